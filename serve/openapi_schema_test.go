package serve_test

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/p20export/p20export/internal/testkit"
)

// description is the file that describes the HTTP interface.
const description = "../docs/serve.openapi.json"

// An api is what the description says.
type api struct {
	Paths      map[string]map[string]*operation
	Components struct{ Responses map[string]*reply }

	compiler *jsonschema.Compiler
	mu       sync.Mutex
	seen     map[string]bool // method, path and status
}

type operation struct {
	OperationID string
	Parameters  []struct {
		Ref string `json:"$ref"`
	}
	RequestBody json.RawMessage
	Responses   map[string]*reply
}

// A reply is a response of the description.
type reply struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]struct {
		Schema struct {
			Ref string `json:"$ref"`
		}
	}
}

// readAPI reads the description. Its schemas refuse keys that they do not name, except those
// of requests.
func readAPI(t testing.TB) *api {
	t.Helper()
	text := testkit.Read(t, description)
	a := &api{compiler: jsonschema.NewCompiler(), seen: map[string]bool{}}
	if err := json.Unmarshal(text, a); err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for name, schema := range document["components"].(map[string]any)["schemas"].(map[string]any) {
		if schema := schema.(map[string]any); schema["properties"] != nil && !strings.HasSuffix(name, "Input") {
			schema["additionalProperties"] = false
		}
	}
	strict, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.compiler.AddResource("api.json", bytes.NewReader(strict)); err != nil {
		t.Fatal(err)
	}
	for path, operations := range a.Paths {
		for method, o := range operations {
			for status, r := range o.Responses {
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
					o.Responses[status] = a.Components.Responses[name]
				}
				if o.Responses[status] == nil {
					t.Fatalf("%s %s: the response %s is not described", method, path, status)
				}
			}
		}
	}
	return a
}

// find returns the operation of a request, and its path in the description.
func (a *api) find(r *http.Request) (path string, o *operation) {
	escaped := r.URL.EscapedPath()
	if strings.HasPrefix(escaped, "/agents/") && strings.HasSuffix(escaped, "/connect/") {
		escaped = strings.TrimSuffix(escaped, "/")
	}
	segments := strings.Split(escaped, "/")
	for path, operations := range a.Paths {
		matches := func(want, segment string) bool {
			return want == segment || segment != "" && strings.HasPrefix(want, "{")
		}
		if slices.EqualFunc(strings.Split(path, "/"), segments, matches) {
			return path, operations[strings.ToLower(strings.Replace(r.Method, http.MethodHead, http.MethodGet, 1))]
		}
	}
	return "", nil
}

// described returns a handler that reports responses of h that the description does not have.
func (a *api) described(t testing.TB, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &spy{ResponseWriter: w}
		h.ServeHTTP(s, r)
		if s.status != 0 { // the client has not left before
			a.check(t, r, s)
		}
	})
}

// A spy is a ResponseWriter that keeps what is not a stream.
type spy struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (s *spy) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *spy) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *spy) Write(p []byte) (int, error) {
	if !strings.HasPrefix(s.Header().Get("Content-Type"), "text/event-stream") {
		s.body.Write(p)
	}
	return s.ResponseWriter.Write(p)
}

// code matches a code in a description or a document.
var code = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([a-z_]+)`") })

// check compares a response with its description.
func (a *api) check(t testing.TB, r *http.Request, s *spy) {
	at := r.Method + " " + r.URL.EscapedPath() + ": status " + strconv.Itoa(s.status)
	path, o := a.find(r)
	if o == nil {
		if s.status < http.StatusBadRequest && r.Method != http.MethodOptions {
			t.Errorf("%s, but it is not described", at)
		}
		return
	}
	a.mu.Lock()
	a.seen[r.Method+" "+path+" "+strconv.Itoa(s.status)] = true
	a.mu.Unlock()
	media, _, err := mime.ParseMediaType(s.Header().Get("Content-Type"))
	want, ok := o.Responses[strconv.Itoa(s.status)]
	if ok && len(want.Content) == 0 && s.body.Len() == 0 {
		return
	}
	if _, typed := want.of(media); !ok || !typed {
		want = o.Responses["default"]
	}
	if want == nil || err != nil {
		t.Errorf("%s is not described, with the type %s", at, media)
		return
	}
	ref, ok := want.of(media)
	if !ok {
		t.Errorf("%s has the type %s", at, media)
	}
	if ref == "" || r.Method == http.MethodHead {
		return
	}
	if s.Header().Get("Content-Length") != strconv.Itoa(s.body.Len()) {
		return // the client was dropped
	}
	a.mu.Lock()
	schema, err := a.compiler.Compile("api.json" + ref)
	a.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	var body any
	if err := json.Unmarshal(s.body.Bytes(), &body); err != nil {
		t.Errorf("%s: %v: %s", at, err, s.body.Bytes())
		return
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s: %#v\n%s", at, err, s.body.Bytes())
	}
	if media != "application/problem+json" {
		return
	}
	problem := body.(map[string]any)
	if problem["status"] != float64(s.status) || problem["title"] != http.StatusText(s.status) {
		t.Errorf("%s: the problem is %s", at, s.body.Bytes())
	}
	if code, _ := problem["code"].(string); !slices.Contains(codes(want.Description), code) {
		t.Errorf("%s: the code %q is not described", at, code)
	}
}

// of returns the schema of a media type, and whether the reply can have the type.
func (r *reply) of(media string) (ref string, ok bool) {
	if r == nil {
		return "", false
	}
	content, ok := r.Content[media]
	if !ok {
		content, ok = r.Content["*/*"]
	}
	return content.Schema.Ref, ok
}

// missing returns the responses of the description that were not seen.
func (a *api) missing() (list []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for path, operations := range a.Paths {
		for method, o := range operations {
			for status := range o.Responses {
				if at := strings.ToUpper(method) + " " + path + " " + status; status != "default" && !a.seen[at] {
					list = append(list, at)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}
