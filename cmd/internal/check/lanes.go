package main

// A lane is one target of the Makefile that runs checks.
type lane struct {
	name  string
	does  string
	tools []string // names of tools, in addition to git and go
}

// needs reports whether the lane needs a tool.
func (l lane) needs(tool string) bool {
	return tool == "git" || tool == "go" || contains(l.tools, tool)
}

var testLane = lane{name: "suites", does: "unit, property, script and golden tests, fuzz corpora, layout, documentation"}

// lanes lists what make check runs, the longest first, so that two at a time end together.
var lanes = []lane{
	{name: "race", does: "the tests of everything concurrent with -race", tools: []string{"cc"}},
	testLane,
	{name: "static", does: "format, modules, vet, staticcheck, a build for 32-bit Windows"},
	{name: "browser", does: "the pages, the window and the example chat in Chromium", tools: []string{"chromium", "nginx", "node", "npm", "postgres", "python3"}},
	{name: "packages", does: "everything that is published, installed from indexes on this machine, and built twice", tools: []string{"curl", "dpkg-deb", "rpm", "cpio", "python3", "node", "npm", "chromium"}},
	{name: "kills", does: "kills, faults and power loss, sampled; bytes changed one at a time; what 20 seconds of streams use", tools: []string{"python3"}},
	{name: "client", does: "AG-UI's reference client on the same streams", tools: []string{"node", "npm"}},
	{name: "differential", does: "the second validator and projector on generated cases", tools: []string{"python3"}},
	{name: "postgres", does: "the log in a real PostgreSQL, serve behind a real nginx", tools: []string{"cc", "curl", "jq", "postgres", "nginx", "openssl"}},
	{name: "clients-typescript", does: "the npm client: its types, its readers through broken connections, a page in Chromium, and the examples of its page", tools: []string{"node", "npm", "chromium"}},
	{name: "witness", does: "AG-UI's specification, read a second time, on generated streams", tools: []string{"python3"}},
	{name: "clients-copilotkit", does: "ThreadRunner with CopilotKit's runtime while programs are killed, and with its chat in Chromium, on both logs", tools: []string{"node", "npm", "chromium", "postgres"}},
	{name: "spark", does: "the jobs for Spark on 2,000 captures in local mode, while a process is killed", tools: []string{"java", "python3"}},
	{name: "judge", does: "Assay's own verifier on the same bundles", tools: []string{"cc", "cargo", "python3"}},
	{name: "clients-python", does: "the Python package: its commands, its types, its fixtures, and its reader through broken connections", tools: []string{"openssl", "python3"}},
	{name: "recount", does: "the figures of GATE.md, counted by a second program", tools: []string{"python3"}},
	{name: "live", does: "every scenario from the real ADK middleware", tools: []string{"python3"}},
	{name: "seals", does: "tampering with 3,000 threads, a second verifier of seals, and a real witness", tools: []string{"postgres", "python3", "ssh-agent"}},
	{name: "live-proxy", does: "the client and ADK directly, through proxy, and from replay", tools: []string{"python3", "node", "npm"}},
	{name: "conformance", does: "the vectors on the program and the second validator", tools: []string{"python3"}},
	{name: "operations", does: "the commands of the documentation that use other programs", tools: []string{"curl", "jq", "openssl", "python3", "systemd-analyze"}},
	{name: "validate-peer", does: "another checker of AG-UI events on the captures, the vectors and changed streams", tools: []string{"python3"}},
	{name: "signatures", does: "other tools verify what we sign, and we verify what they sign", tools: []string{"openssl", "python3", "softhsm2-util", "pkcs11-tool"}},
	{name: "work", does: "the statements that the program executes for six inputs"},
	{name: "release", does: "the release and its size"},
	{name: "openapi", does: "the description of the interface of serve", tools: []string{"node", "npm"}},
	{name: "window", does: "the modules of the window are those that npm has", tools: []string{"node", "npm"}},
}

func names(of []lane) []string {
	var list []string
	for _, l := range of {
		list = append(list, l.name)
	}
	return list
}
