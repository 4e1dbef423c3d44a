package hostcheck

import "testing"

func TestHosts(t *testing.T) {
	for _, test := range []struct {
		host           string
		local, address bool
	}{
		{"localhost", true, false},
		{"LOCALHOST.:8080", true, false},
		{"app.localhost:1", true, false},
		{"127.0.0.1", true, true},
		{"127.9.9.9:80", true, true},
		{"[::1]:80", true, true},
		{"[::1]", true, true},
		{"[::ffff:127.0.0.1]:80", true, true},
		{"Agent.Internal:443", true, false},
		{"10.0.0.1:80", false, true},
		{"[fe80::1]", false, true},
		{"evil.example", false, false},
		{"evil.example:80", false, false},
		{"127.0.0.1.evil.example", false, false},
		{"localhost.evil.example", false, false},
		{"localhost@evil.example", false, false},
		{"localhost:80@evil.example", false, false},
		{"localhost:8o", false, false},
		{"evil.example#localhost", false, false},
		{"agent.internal.evil.example", false, false},
		{"xlocalhost", false, false},
		{"2130706433", false, false},
		{"0x7f.1", false, false},
		{"::1", false, true},
		{"[localhost]", false, false},
		{"[::1", false, true},
		{"localhost]", false, false},
		{"", false, false},
		{":80", false, false},
	} {
		if local := Local(test.host, []string{"agent.internal"}); local != test.local {
			t.Errorf("%q is local: %t", test.host, local)
		}
		if address := IsAddress(test.host); address != test.address {
			t.Errorf("%q is an address: %t", test.host, address)
		}
	}
}
