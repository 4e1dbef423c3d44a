package markup

import "testing"

func TestContent(t *testing.T) {
	for text, want := range map[string]string{"": "⟨0 characters⟩", "é": "⟨1 character⟩", "a\nb": "⟨3 characters⟩", "a\xff": "⟨2 bytes⟩"} {
		if got := (Content{Redact: true}).Text(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
		b, n := Content{Redact: true}.Append([]byte("x"), text, true, 100)
		if string(b) != "x"+want || n != len(text) {
			t.Errorf("%q appends %s, %d bytes of it", text, b, n)
		}
	}
	if got := (Content{}).Text("<b>"); got != "<b>" {
		t.Errorf("the text is shown as %s", got)
	}
}
