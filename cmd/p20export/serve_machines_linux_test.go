//go:build postgres

package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/p20export/p20export/internal/testkit"
)

// machines are servers with the flags of the section about several machines, each on an address
// of its own, behind an nginx with the configuration of the section.
type machines struct {
	*testing.T
	nginx, dir, address string
	listen, metrics     string // the ports of all servers
	agent               string
	client              *http.Client
	configuration       string // of nginx
}

// tokenOf returns the token of a tenant.
func tokenOf(tenant string) string { return "0123456789abcdef-" + tenant }

func newMachines(t *testing.T, agent string) *machines {
	t.Helper()
	m := &machines{T: t, nginx: os.Getenv("P20EXPORT_NGINX"), agent: agent}
	if m.nginx == "" || os.Getenv("P20EXPORT_POSTGRES") == "" {
		t.Fatal("P20EXPORT_POSTGRES or P20EXPORT_NGINX is not set; run make postgres")
	}
	m.dir, m.address = nginxDir(t)
	writeCertificate(t, m.path("cert.pem"), m.path("key.pem"))
	m.client = clientOf(t, m.dir, m.address)
	testkit.Write(t, m.path("tickets"), strings.Repeat("k", 32))
	for _, port := range []*string{&m.listen, &m.metrics} {
		l, err := net.Listen("tcp", "127.0.11.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, *port, _ = net.SplitHostPort(l.Addr().String())
	}
	return m
}

func (m *machines) path(name string) string { return filepath.Join(m.dir, name) }

// logURL is the URL of a log, which is a schema of the database.
func (m *machines) logURL(schema string) string {
	u, err := url.Parse(os.Getenv("P20EXPORT_POSTGRES"))
	if err != nil {
		m.Fatal(err)
	}
	u.RawQuery = "search_path=" + schema
	return u.String()
}

// allow lets a tenant use a group of servers.
func (m *machines) allow(group string, tenants ...string) {
	m.Helper()
	text := ""
	for _, tenant := range tenants {
		text += fmt.Sprintf("%s sha256:%x\n", tenant, sha256.Sum256([]byte(tokenOf(tenant))))
	}
	testkit.Write(m.T, m.path("tokens-"+group), text)
}

// start starts the server of a machine in a group with a log.
func (m *machines) start(machine, group, log string, more ...string) *server {
	m.Helper()
	line := adapt(m.T, blocks(m.T, operationsPage, "```sh serve")[0].text, map[string]string{
		"postgres://p20export@db.internal/p20export --password-file /etc/p20export/database": log, // the password is in PGPASSFILE
		"10.0.0.11:8080": machine + ":" + m.listen, "10.0.0.11:9090": machine + ":" + m.metrics,
		"cert.pem": m.path("cert.pem"), "key.pem": m.path("key.pem"), "/etc/p20export/tokens": m.path("tokens-" + group), "/etc/p20export/tickets": m.path("tickets"),
		"http://127.0.0.1:8011/": m.agent, "/var/lib/p20export/captures": m.path("captures-" + machine), "\\\n": "",
	})
	s, _ := startServer(m.T, append(strings.Fields(line)[1:], more...)...)
	return s
}

// watch runs the script of the page that asks the servers of group a whether they are ready. It returns
// after the script has reloaded nginx with exactly the servers in list.
func (m *machines) watch(list ...string) {
	m.Helper()
	script := m.adapted(blocks(m.T, operationsPage, "```sh ready")[0].text, map[string]string{
		"sleep 2": "sleep 0.1", "nginx -s reload": m.nginx + " " + strings.Join(nginxArgs(m.dir), " ") + " -s reload; touch " + m.path("reloaded"),
		"10.0.0.11": "127.0.11.1", "10.0.0.12": "127.0.11.2", "9090": m.metrics, "8080": m.listen,
	})
	_ = os.Remove(m.path("reloaded"))
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); _ = cmd.Wait() }()
	want := ""
	for _, machine := range list {
		want += "server " + machine + ":" + m.listen + " max_fails=0;\n"
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got, _ := os.ReadFile(m.path("ready-a.conf"))
		if _, err := os.Stat(m.path("reloaded")); err == nil && string(got) == want {
			return
		}
		if time.Now().After(until) {
			m.Fatalf("the servers are\n%swant\n%s", got, want)
		}
	}
}

// adapted is adapt with the directory of nginx.
func (m *machines) adapted(text string, replaced map[string]string) string {
	m.Helper()
	replaced["/etc/nginx/"] = m.dir + "/"
	return adapt(m.T, text, replaced)
}

// front starts nginx.
func (m *machines) front() {
	m.Helper()
	m.configuration = m.adapted(blocks(m.T, operationsPage, "```nginx")[0].text, map[string]string{
		"listen 443": "listen " + m.address, "/etc/ssl/agents.example.pem": m.path("cert.pem"), "/etc/ssl/private/agents.example.key": m.path("key.pem"),
		"/etc/nginx/p20export.pem": m.path("cert.pem"), "proxy_ssl_name agents.example": "proxy_ssl_name example.com",
	})
	configureNginx(m.T, m.dir, m.configuration)
	runNginx(m.T, m.nginx, m.dir, m.address)
}

// request returns a request of the tenant acme to a host. With a body, it is a POST.
func (m *machines) request(host, path, body string, headers ...string) *http.Request {
	m.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(m.Context(), method, "https://"+host+path, strings.NewReader(body))
	if err != nil {
		m.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+tokenOf("acme"))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// do sends a request.
func (m *machines) do(host, path, body string, headers ...string) *http.Response {
	m.Helper()
	response, err := m.client.Do(m.request(host, path, body, headers...))
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { response.Body.Close() })
	return response
}

// want sends a request and checks the status and a part of the body, which it returns.
func (m *machines) want(status int, part, host, path, body string) string {
	m.Helper()
	response := m.do(host, path, body)
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status || !strings.Contains(string(text), part) {
		m.Errorf("%s: status %d, %v\n%s", path, response.StatusCode, err, text)
	}
	return string(text)
}

// until repeats a request until it has a status: nginx needs a moment for a new configuration.
func (m *machines) until(status int, host, path, body string) {
	m.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		response := m.do(host, path, body)
		_, _ = io.Copy(io.Discard, response.Body)
		if response.StatusCode == status {
			return
		}
		if time.Now().After(deadline) {
			m.Fatalf("%s: status %d, want %d", path, response.StatusCode, status)
		}
	}
}

// A sent is an event that a reader has.
type sent struct{ id, data string }

// next returns the next event of a reader, or an error when its response breaks off or ends.
func next(r *bufio.Reader) (e sent, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return e, err
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			e.id = strings.TrimSpace(id)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			e.data = strings.TrimSpace(data)
			return e, nil
		}
	}
}

// runsRun reports whether a server has an active run.
func (m *machines) runsRun(s *server) bool {
	m.Helper()
	return strings.Contains(metricsOf(m.T, s), "p20export_serve_runs_active 1\n")
}

// TestPostgresMachinesKilled kills one of two servers, and stops one, as the section says.
func TestPostgresMachinesKilled(t *testing.T) {
	a := newAgent(t)
	slow := newAgent(t)
	asked, answer := make(chan bool), make(chan bool)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- true
		select {
		case <-answer:
			w.WriteHeader(http.StatusTeapot)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(silent.Close)
	m := newMachines(t, a.URL)
	m.allow("a", "acme")
	log := m.logURL(fmt.Sprint("killed", time.Now().UnixNano()))
	list := []string{"127.0.11.1", "127.0.11.2"}
	start := func(i int) *server {
		return m.start(list[i], "a", log, "--upstream", "slow="+slow.URL, "--upstream", "silent="+silent.URL)
	}
	servers := []*server{start(0), start(1)}
	testkit.Write(t, m.path("ready-b.conf"), "server 127.0.11.3:"+m.listen+";")
	m.watch(list...)
	m.front()

	const host, thread = "agents.example", "/threads/a%2F..%2Fb"
	const run = `{"threadId":"a/../b","runId":"r"}`
	client := bufio.NewReader(m.do(host, "/agents/guide", run).Body)
	first, err := next(client)
	if err != nil || first.data != testkit.Started {
		t.Fatalf("%v, %v", first, err)
	}
	var readers []*bufio.Reader
	for range 4 {
		r := bufio.NewReader(m.do(host, thread+"/events", "").Body)
		if e, err := next(r); err != nil || e != first {
			t.Fatalf("a reader gets %v, %v; want %v", e, err, first)
		}
		readers = append(readers, r)
	}
	owner := 0
	if m.runsRun(servers[1]) {
		owner = 1
	}
	// Each server gets a POST that its agent does not answer.
	statuses := make(chan int, 2)
	for n := range 2 {
		go func() {
			response, err := m.client.Do(m.request(host, "/agents/silent", fmt.Sprintf(`{"threadId":"silent-%d","runId":"r"}`, n)))
			if err != nil {
				statuses <- 0
				return
			}
			response.Body.Close()
			statuses <- response.StatusCode
		}()
	}
	<-asked
	<-asked
	begun := time.Now()
	servers[owner].kill(t, syscall.SIGKILL)
	// nginx does not send it to the other server.
	if status := <-statuses; status != http.StatusBadGateway {
		t.Errorf("the client of the agent that did not answer gets %d", status)
	}
	close(answer)
	if status := <-statuses; status != http.StatusTeapot {
		t.Errorf("the client at the other server gets %d", status)
	}
	if e, err := next(client); err == nil {
		t.Errorf("the client gets %v from a dead server", e)
	}
	lost := 0
	for _, r := range readers {
		e, err := next(r)
		if err != nil { // it was at the dead server, and comes back
			lost++
			response := m.do(host, thread+"/events", "", "Last-Event-ID", first.id)
			if e, err = next(bufio.NewReader(response.Body)); err != nil {
				t.Errorf("status %d: %v", response.StatusCode, err)
			}
		}
		if !strings.Contains(e.data, `"p20export.owner_lost"`) {
			t.Errorf("a reader gets %v", e)
		}
	}
	t.Logf("%d of %d readers were disconnected; all had the end after %v", lost, len(readers), time.Since(begun).Round(time.Millisecond))
	if lost == 0 || lost == len(readers) {
		t.Errorf("%d of %d readers were at the server that was killed", lost, len(readers))
	}
	// The same POST does not start the run again, and another run can begin.
	m.want(http.StatusOK, `"p20export.owner_lost"`, host, "/agents/guide", run)
	close(a.release)
	for n := range 4 {
		m.want(http.StatusOK, testkit.Finished, host, "/agents/guide", fmt.Sprintf(`{"threadId":"a/../b","runId":"next-%d"}`, n))
		m.want(http.StatusOK, `"thread_id":"a/../b"`, host, "/threads", "")
	}
	m.watch(list[1-owner])
	servers[owner] = start(owner)
	m.watch(list...)

	// A server that is stopped goes on with its run.
	client = bufio.NewReader(m.do(host, "/agents/slow", `{"threadId":"slow","runId":"r"}`).Body)
	if _, err := next(client); err != nil {
		t.Fatal(err)
	}
	owner = 0
	if m.runsRun(servers[1]) {
		owner = 1
	}
	servers[owner].kill(t, syscall.SIGTERM)
	wantReady(t, servers[owner], http.StatusServiceUnavailable)
	for range 4 {
		m.want(http.StatusOK, `"thread_id":"a/../b"`, host, "/threads", "")
	}
	m.watch(list[1-owner])
	// An old process of nginx gives every other POST of the connections that it has to the server
	// that ends, so four in a row come from a new one.
	for deadline, n, row := time.Now().Add(time.Minute), 0, 0; row < 4; n++ {
		m.client = clientOf(t, m.dir, m.address)
		if row++; m.do(host, "/agents/guide", fmt.Sprintf(`{"threadId":"t%d","runId":"r"}`, n)).StatusCode != http.StatusOK {
			row = 0
		}
		if time.Now().After(deadline) {
			t.Fatal("nginx still gives requests to the server that ends")
		}
	}
	close(slow.release)
	if rest, err := io.ReadAll(client); err != nil || !strings.Contains(string(rest), testkit.Finished) {
		t.Errorf("the rest is %v\n%s", err, rest)
	}
	if status, text := servers[owner].wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, text)
	}
	servers[1-owner].stop(t)
}

// TestPostgresMachinesMove moves a tenant between two databases, as the section says.
func TestPostgresMachinesMove(t *testing.T) {
	a := newAgent(t)
	close(a.release)
	m := newMachines(t, a.URL)
	m.allow("a", "acme", "initech")
	m.allow("b", "globex") // a file without tokens is refused
	now := time.Now().UnixNano()
	logs := []string{m.logURL(fmt.Sprint("old", now)), m.logURL(fmt.Sprint("new", now))}
	bin := ownBin(t)
	do := func(command string) {
		t.Helper()
		cmd := exec.Command("sh", "-c", command)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "SCRATCH="+m.dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	do("p20export keygen $SCRATCH/seals")
	sealing := []string{"--seal", m.path("seals.key.pem"), "--origin", "agents.example/log"}
	old := m.start("127.0.11.1", "a", logs[0], sealing...)
	fresh := m.start("127.0.11.3", "b", logs[1], sealing...)
	testkit.Write(t, m.path("ready-b.conf"), "server 127.0.11.3:"+m.listen+";")
	testkit.Write(t, m.path("ready-a.conf"), "server 127.0.11.1:"+m.listen+";")
	m.front()
	reload := func(host string) {
		t.Helper()
		configureNginx(t, m.dir, strings.Replace(m.configuration, "    default group_a;\n", "    default group_a;\n    "+host+";\n", 1))
		if out, err := exec.Command(m.nginx, append(nginxArgs(m.dir), "-s", "reload")...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}

	const host, thread = "acme.agents.example", "/threads/a%2F..%2Fb"
	m.want(http.StatusOK, testkit.Finished, host, "/agents/guide", `{"threadId":"a/../b","runId":"r"}`)
	m.want(http.StatusOK, testkit.Finished, host, "/agents/guide", `{"threadId":"-o 'x'\n$(y)","runId":"r"}`)
	m.want(http.StatusUnauthorized, "", "globex.agents.example", "/threads", "")
	reader := bufio.NewReader(m.do(host, thread+"/events", "").Body)
	var last sent
	for last.data != testkit.Finished {
		var err error
		if last, err = next(reader); err != nil {
			t.Fatal(err)
		}
	}
	checkpoint := ""
	for checkpoint == "" {
		if response := m.do(host, thread+"/checkpoint", ""); response.StatusCode == http.StatusOK {
			b, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			checkpoint = string(b)
		}
	}
	entries := m.want(http.StatusOK, "", host, thread+"/entries", "")

	reload(host + " moving")
	m.until(http.StatusServiceUnavailable, host, "/threads", "")
	m.allow("a", "initech")
	if e, err := next(reader); err == nil {
		t.Errorf("a reader of the old group gets %v", e)
	}
	commands := 0
	for _, block := range blocks(t, operationsPage, "```sh operations move") {
		for _, command := range strings.Split(strings.TrimSpace(block.text), "\n") {
			if strings.HasPrefix(command, "p20export log import discovery/") || strings.HasPrefix(command, "p20export log seal ") {
				continue // they only make a thread
			}
			do(strings.NewReplacer("sqlite:$SCRATCH/old.db", "'"+logs[0]+"'", "sqlite:$SCRATCH/new.db", "'"+logs[1]+"'").Replace(command))
			commands++
		}
	}
	if commands == 0 {
		t.Fatal("the page shows no command")
	}
	m.allow("b", "globex", "acme")
	reload(host + " group_b")
	m.until(http.StatusOK, host, "/threads", "")
	if got := m.want(http.StatusOK, "", host, thread+"/entries", ""); got != entries {
		t.Errorf("the entries are\n%s\nwant\n%s", got, entries)
	}
	if got := m.want(http.StatusOK, "", host, thread+"/checkpoint", ""); got != checkpoint {
		t.Errorf("the checkpoint is\n%s\nwant\n%s", got, checkpoint)
	}
	var list struct{ Threads []json.RawMessage }
	if err := json.Unmarshal([]byte(m.want(http.StatusOK, "", host, "/threads", "")), &list); err != nil || len(list.Threads) != 2 {
		t.Errorf("%d threads, %v", len(list.Threads), err)
	}
	// The reader comes back with the id that it has, and gets what follows.
	reader = bufio.NewReader(m.do(host, thread+"/events", "", "Last-Event-ID", last.id).Body)
	m.want(http.StatusOK, testkit.Finished, host, "/agents/guide", `{"threadId":"a/../b","runId":"next"}`)
	if e, err := next(reader); err != nil || e.data != testkit.Started {
		t.Errorf("the reader gets %v, %v", e, err)
	}
	// The new group goes on sealing after the seals that moved.
	testkit.Write(t, m.path("old.checkpoint"), checkpoint)
	for m.want(http.StatusOK, "", host, thread+"/checkpoint", "") == checkpoint {
		time.Sleep(20 * time.Millisecond)
	}
	do("p20export log verify a/../b --tenant acme --store '" + logs[1] + "' --trust $SCRATCH/seals.pub.pem --against $SCRATCH/old.checkpoint")
	old.stop(t)
	fresh.stop(t)
}
