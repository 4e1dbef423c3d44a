//go:build dist

package packaging_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/p20export/p20export/internal/testkit"
)

// An action is action.yml, as far as the test runs it.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			ID, If, Run, Shell, Uses string
			Env                      map[string]string
			With                     map[string]string
		}
	}
}

// expression matches an expression of GitHub Actions: an input or an output of a step, which is
// all that action.yml uses outside of conditions.
var expression = regexp.MustCompile(`\$\{\{ (inputs|steps\.[a-z]+\.outputs)\.([a-z-]+) \}\}`)

// An actionResult is what a run of the action left.
type actionResult struct {
	status      int
	log         string
	summary     string
	directory   string
	outputs     map[string]string
	otherAction []string // those that would run next
}

// resultsName matches the directory of results.
var resultsName = regexp.MustCompile(`^p20export-\w{6}/results`)

// runAction runs the steps of action.yml as GitHub's runner does.
func runAction(t *testing.T, inputs map[string]string, env ...string) actionResult {
	t.Helper()
	var a action
	if err := yaml.Unmarshal(testkit.Read(t, "../action.yml"), &a); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := actionResult{outputs: map[string]string{}}
	value := func(text string) string {
		return expression.ReplaceAllStringFunc(text, func(e string) string {
			m := expression.FindStringSubmatch(e)
			if m[1] != "inputs" {
				return r.outputs[m[2]]
			}
			input, known := a.Inputs[m[2]]
			if !known {
				t.Errorf("%s is no input", e)
			}
			if given, ok := inputs[m[2]]; ok {
				return given
			}
			return input.Default
		})
	}
	search := os.Getenv("PATH")
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, step := range a.Runs.Steps {
		switch step.If {
		case "":
			if r.status != 0 {
				continue
			}
		case "${{ inputs.version != 'none' }}":
			if value("${{ inputs.version }}") == "none" || r.status != 0 {
				continue
			}
		case "${{ always() && steps.run.outputs.directory != '' }}":
			if r.outputs["directory"] == "" {
				continue
			}
		case "${{ always() && inputs.sarif == 'true' && steps.run.outputs.directory != '' }}":
			if value("${{ inputs.sarif }}") != "true" || r.outputs["directory"] == "" {
				continue
			}
		default:
			t.Fatalf("the test does not know the condition %s", step.If)
		}
		if step.Uses != "" {
			with := ""
			for _, v := range step.With {
				if v = value(v); strings.HasPrefix(v, dir) {
					if _, err := os.Stat(v); err != nil {
						t.Error(err)
					}
					with, _ = filepath.Rel(dir, v)
					with = resultsName.ReplaceAllString(with, "results")
				}
			}
			r.otherAction = append(r.otherAction, step.Uses+" "+with)
			continue
		}
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Dir = dir
		cmd.Env = append([]string{"HOME=" + dir, "PATH=" + search, "RUNNER_TEMP=" + dir, "GITHUB_ACTION_PATH=" + root(t), "GITHUB_PATH=" + file("path"), "GITHUB_OUTPUT=" + file("output"), "GITHUB_STEP_SUMMARY=" + file("summary")}, env...)
		for name, v := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+value(v))
		}
		out, _ := cmd.CombinedOutput()
		r.log += string(out)
		if r.status == 0 {
			r.status = cmd.ProcessState.ExitCode()
		}
		if added, err := os.ReadFile(file("path")); err == nil {
			search = strings.TrimSpace(string(added)) + ":" + os.Getenv("PATH")
		}
		if text, err := os.ReadFile(file("output")); err == nil {
			for line := range strings.Lines(string(text)) {
				name, v, _ := strings.Cut(strings.TrimSpace(line), "=")
				r.outputs[name] = v
			}
		}
	}
	if text, err := os.ReadFile(file("summary")); err == nil {
		r.summary = string(text)
	}
	r.directory = r.outputs["directory"]
	return r
}

// downloads serves what was published as a release on GitHub, and returns the environment in
// which install.sh gets it from there.
func downloads(t *testing.T) []string {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix("/v"+version+"/", http.FileServer(http.Dir(dist))))
	t.Cleanup(server.Close)
	return []string{"P20EXPORT_DOWNLOADS=" + server.URL}
}

// checksum returns the digest of SHA256SUMS.
func checksum(t *testing.T) string {
	sum := sha256.Sum256(testkit.Read(t, published("SHA256SUMS")))
	return hex.EncodeToString(sum[:])
}

// The action installs a release, checks an endpoint or captures, and leaves annotations, a
// summary, SARIF and a page.
func TestAction(t *testing.T) {
	t.Parallel()
	one, err := filepath.Abs("../discovery/captures/adk/one-turn")
	if err != nil {
		t.Fatal(err)
	}
	bad, err := filepath.Abs("../discovery/captures/langgraph-ts/model-error")
	if err != nil {
		t.Fatal(err)
	}
	install := map[string]string{"version": version, "checksum": checksum(t)}
	run := func(inputs map[string]string) actionResult {
		t.Helper()
		for name, v := range install {
			inputs[name] = v
		}
		r := runAction(t, inputs, downloads(t)...)
		for _, name := range []string{"verdict.txt", "results.ndjson", "findings.sarif", "report.html"} {
			if text, err := os.ReadFile(filepath.Join(r.directory, name)); err != nil || len(text) == 0 {
				t.Errorf("%v: %v, %d bytes\n%s", inputs, err, len(text), r.log)
			}
		}
		return r
	}
	r := run(map[string]string{"command": "lint", "target": agent(t), "args": "--off=W20\n--off=W1"})
	contains(t, r.log, "p20export "+version+" (commit ", "accepted ")
	contains(t, r.summary, "### p20export lint passed\n\n    accepted ")
	if r.status != 0 || fmt.Sprint(r.otherAction) != "[actions/upload-artifact@v5 results]" {
		t.Errorf("%+v", r)
	}
	r = run(map[string]string{"command": "lint", "target": one + "\n" + bad, "sarif": "true"})
	contains(t, r.log, "::error ", "refused")
	contains(t, r.summary, "### p20export lint did not pass")
	if r.status != 1 || fmt.Sprint(r.otherAction) != "[actions/upload-artifact@v5 results github/codeql-action/upload-sarif@v4 results/findings.sarif]" {
		t.Errorf("%+v", r)
	}
	r = run(map[string]string{"command": "discover", "target": agent(t)})
	contains(t, r.summary, "### p20export discover ", "qualif")
	r = run(map[string]string{"command": "compare", "target": one, "baseline": filepath.Join(root(t), "packaging", "testdata", "baseline.json")})
	contains(t, r.summary, "### p20export compare ")
	golden := filepath.Join(t.TempDir(), "golden")
	testkit.Write(t, filepath.Join(golden, "trace.json"), "{}")
	r = run(map[string]string{"command": "compare", "target": one, "golden": golden})
	contains(t, r.summary, "there is no golden ")
	testkit.Write(t, filepath.Join(golden, "one-turn.trace.jsonl"), traceOfOneTurn(t))
	r = run(map[string]string{"command": "compare", "target": one, "golden": golden})
	contains(t, r.summary, "### p20export compare passed", "1 scenario: 1 equal")
	r = run(map[string]string{"command": "discover", "target": agent(t), "golden": golden})
	contains(t, r.summary, "there is no golden ")

	// What is not as it should be is said, and nothing is installed.
	for want, inputs := range map[string]map[string]string{
		"and not " + strings.Repeat("0", 64):               {"checksum": strings.Repeat("0", 64)},
		"releases.txt does not have the checksum of 9.9.9": {"version": "9.9.9", "checksum": ""},
		"cannot download SHA256SUMS of 9.9.9":              {"version": "9.9.9"},
		"the version is not one such as":                   {"version": "x/y/;1e touch pwned\n#"},
		"the checksum is not a SHA-256":                    {"checksum": "none"},
		"the command is lint, discover or compare":         {"command": "prove"},
		"discover needs one target, which is a URL":        {"command": "discover", "target": "captures"},
		"there is no target":                               {"target": " \n "},
		"one flag in each line":                            {"args": "--off\nW20"},
	} {
		all := map[string]string{"command": "lint", "target": one, "version": version, "checksum": checksum(t)}
		for name, v := range inputs {
			all[name] = v
		}
		if r := runAction(t, all, downloads(t)...); r.status == 0 || !strings.Contains(r.log, want) {
			t.Errorf("want %q: %+v", want, r)
		}
	}
}

// traceOfOneTurn returns the golden of a capture, which docs/traces.md shows.
func traceOfOneTurn(t *testing.T) []byte {
	t.Helper()
	_, after, _ := strings.Cut(string(testkit.Read(t, "../docs/traces.md")), "in normal form:\n\n```\n")
	lines, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("docs/traces.md shows no trace")
	}
	return []byte(lines)
}

// released returns a repository whose tag v0 is HEAD with the checksum of the release, as
// docs/releases.md has it.
func released(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script := `git clone --quiet "$1" .
echo "$2 $3" >>packaging/ci/releases.txt
git -c user.name=n -c user.email=e commit --quiet --all --message release
git tag v0`
	output(t, command(t, dir, "sh", "-ec", script, "sh", root(t), version, checksum(t)))
	return dir
}

// Flags that are only for a URL do not fail the check, what an endpoint answers is not read as
// commands of GitHub Actions, and what cannot be written is no verdict.
func TestRunInCI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archived := "p20export_" + version + "_" + host()
	program := entries(t, published("%s.tar.gz", archived))[archived+"/p20export"]
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(bin, "p20export"), program.data)
	if err := os.Chmod(filepath.Join(bin, "p20export"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(results string, env ...string) *exec.Cmd {
		cmd := command(t, dir, root(t)+"/packaging/ci/run.sh", results)
		cmd.Env = append(append(cmd.Env, env...), "PATH="+bin+":/usr/bin:/bin")
		return cmd
	}
	output(t, run("url", "P20EXPORT_COMMAND=lint", "P20EXPORT_TARGET= "+agent(t)+" \n", "P20EXPORT_ARGS=--timeout=30s\n--header=Authorization: $TOKEN\n--off=W20", "TOKEN=x"))
	for _, name := range []string{"findings.sarif", "report.html", "summary.md", "results.ndjson"} {
		if text, err := os.ReadFile(filepath.Join(dir, "url", name)); err != nil || len(text) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	contains(t, failing(t, 3, run("url", "P20EXPORT_COMMAND=lint", "P20EXPORT_TARGET="+agent(t))), "exists")

	hostile := filepath.Join(dir, "hostile.sse")
	testkit.Write(t, hostile, testkit.SSE(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"a ##[stop-commands]x ::stop-commands::y","delta":"{"}`))
	out := failing(t, 1, run("hostile", "P20EXPORT_COMMAND=lint", "P20EXPORT_TARGET="+hostile, "GITHUB_ACTIONS=true"))
	token := regexp.MustCompile(`(?s)^::stop-commands::([0-9a-f]{32})\n.*refused.*\n::([0-9a-f]{32})::\n$`).FindStringSubmatch(out)
	if token == nil || token[1] != token[2] {
		t.Errorf("commands are not stopped: %q", out)
	}
	annotations := string(testkit.Read(t, filepath.Join(dir, "hostile", "annotations.txt")))
	if !strings.Contains(annotations, "\n::error ") || strings.Contains(annotations, "##[") {
		t.Error(annotations)
	}

	if err := os.WriteFile(filepath.Join(bin, "tee"), []byte("#!/bin/sh\ncat; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	one := filepath.Join(root(t), "discovery", "captures", "adk", "one-turn")
	contains(t, failing(t, 3, run("full", "P20EXPORT_COMMAND=lint", "P20EXPORT_TARGET="+one)), "accepted ", "the results are not complete")
}

// The jobs for GitLab and Jenkins have scripts that work.
func TestOtherCI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := append(downloads(t), "P20EXPORT_VERSION="+version, "P20EXPORT_COMMAND=lint", "P20EXPORT_TARGET="+agent(t), "P20EXPORT_ARGS=--off=W20", "WORKSPACE="+dir, "WORKSPACE_TMP="+filepath.Join(dir, "tmp"))
	pipeline := string(testkit.Read(t, "ci/Jenkinsfile"))
	_, script, _ := strings.Cut(pipeline, "sh '''")
	script, _, found := strings.Cut(script, "'''")
	if !found {
		t.Fatal("the Jenkinsfile has no script")
	}
	const repository = "https://github.com/p20export/p20export"
	contains(t, script, repository)
	script = strings.ReplaceAll(script, repository, "file://"+released(t))
	for range 2 { // Jenkins keeps workspaces
		cmd := command(t, dir, "sh", "-ec", script)
		cmd.Env = append(cmd.Env, env...)
		contains(t, output(t, cmd), "accepted ")
	}
	if _, err := os.Stat(filepath.Join(dir, "p20export-results", "report.html")); err != nil {
		t.Error(err)
	}

	var jobs map[string]struct{ Script []string }
	if err := yaml.Unmarshal(testkit.Read(t, "ci/gitlab.yml"), &jobs); err != nil {
		t.Fatal(err)
	}
	job := jobs[".p20export"].Script
	if len(job) != 3 || !strings.HasPrefix(job[1], "python -c ") {
		t.Fatalf("%q", job)
	}
	job[1] = "cp " + root(t) + "/packaging/ci/run.sh ." // the network is that of this machine
	dir = t.TempDir()
	output(t, command(t, dir, os.Getenv("P20EXPORT_PACKAGES_PYTHON"), "-m", "venv", "venv"))
	cmd := command(t, dir, "bash", "-ec", strings.Join(job, "\n"))
	cmd.Env = append(append(cmd.Env, env...), "PATH="+filepath.Join(dir, "venv", "bin")+":/usr/bin:/bin", "PIP_INDEX_URL="+index(t).URL+"/simple/")
	contains(t, output(t, cmd), "accepted ")
	if _, err := os.Stat(filepath.Join(dir, "p20export-results", "report.html")); err != nil {
		t.Error(err)
	}
}

// The hooks of pre-commit build the program and check files.
func TestPreCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := command(t, dir, "git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"}, args...)...)
		output(t, cmd)
	}
	git("init", "--quiet")
	testkit.Write(t, filepath.Join(dir, "good.artifact.json"), testkit.Read(t, "../examples/ag-ui-compacted-message-snapshot-evidence/frozen/finished.artifact.json"))
	testkit.Write(t, filepath.Join(dir, "bad.sse"), testkit.SSE(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`))
	commit := strings.TrimSpace(output(t, exec.Command("git", "-C", root(t), "rev-parse", "HEAD")))
	testkit.Write(t, filepath.Join(dir, ".pre-commit-config.yaml"), fmt.Sprintf("repos: [{repo: %q, rev: %q, hooks: [{id: p20export-validate}, {id: p20export-lint}]}]\n", root(t), commit))
	git("add", ".")
	cmd := command(t, dir, os.Getenv("P20EXPORT_PACKAGES_PYTHON"), "-m", "pre_commit", "run", "--all-files")
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"), "PRE_COMMIT_HOME="+filepath.Join(dir, ".git", "hooks"), "GOFLAGS=-modcacherw -trimpath")
	for name, value := range map[string]string{"GOCACHE": "%s", "GOMODCACHE": "file://%s/cache/download"} {
		value = fmt.Sprintf(value, goEnv(t, name))
		if name == "GOMODCACHE" {
			name, value = "GOPROXY", value+","+goEnv(t, "GOPROXY")
			cmd.Env = append(cmd.Env, "GONOSUMDB=*")
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out := failing(t, 1, cmd)
	if !regexp.MustCompile(`(?s)p20export validate\.+Passed.*p20export lint\.+Failed.*bad\.sse`).MatchString(out) {
		t.Error(out)
	}
}

// The workflow of the page for maintainers is valid, and gives the action inputs that it has.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lint := filepath.Join(dir, "actionlint")
	build := exec.Command("go", "build", "-modfile=internal/tools/go.mod", "-o", lint, "github.com/rhysd/actionlint/cmd/actionlint")
	build.Dir = root(t)
	output(t, build)
	page := string(testkit.Read(t, "../docs/start/maintainer.md"))
	_, workflow, _ := strings.Cut(page, "```yaml\n")
	workflow, _, found := strings.Cut(workflow, "```")
	if uses := regexp.MustCompile(`uses: p20export/p20export@v[0-9.]+`); found && uses.MatchString(workflow) {
		workflow = uses.ReplaceAllString(workflow, "uses: ./")
	} else {
		t.Fatal("the page has no workflow that uses the action")
	}
	repository := filepath.Join(dir, "repository")
	if err := os.MkdirAll(filepath.Join(repository, ".github", "workflows"), 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(repository, "action.yml"), testkit.Read(t, "../action.yml"))
	file := filepath.Join(repository, ".github", "workflows", "ci.yml")
	testkit.Write(t, file, workflow)
	output(t, command(t, repository, "git", "init", "--quiet"))
	if out := output(t, command(t, repository, lint, "-no-color", file)); out != "" {
		t.Error(out)
	}
	testkit.Write(t, file, strings.Replace(workflow, "sarif: true", "serif: true", 1))
	contains(t, failing(t, 1, command(t, repository, lint, "-no-color", file)), `input "serif" is not defined`)
}
