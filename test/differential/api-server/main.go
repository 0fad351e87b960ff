// Program api-server answers what a Kubernetes API server does with the pods of a text, without a server.
//
// It reads one question a line from standard input, as JSON:
//
//	{"id": 1, "kind": "pod", "text": "apiVersion: v1\nkind: Pod\n…"}
//	{"id": 2, "kind": "yaml", "text": "a: 0o7"}
//
// and answers one line each. A pod is decoded strictly, gets its defaults, and is prepared and validated by the strategy of
// the pods' registry with the default feature gates: what "kubectl create" gets to hear, admission plugins aside. A YAML text
// is answered as the JSON that sigs.k8s.io/yaml makes of it, as kubectl does before it sends anything.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"sigs.k8s.io/yaml"
)

type question struct {
	ID   int    `json:"id"`
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// problem is one error of the API server: its field, its class and its words.
type problem struct {
	Field  string `json:"field"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
}

type answer struct {
	ID       int       `json:"id"`
	Problems []problem `json:"problems"`
	Warnings []string  `json:"warnings,omitempty"`
	// Pod is the spec with its defaults, as the server would store it; absent when it refuses the pod.
	Pod json.RawMessage `json:"pod,omitempty"`
	// JSON is what a YAML text means; absent when it is none.
	JSON json.RawMessage `json:"json,omitempty"`
}

// recorder collects warnings of one request.
type recorder struct{ texts []string }

func (r *recorder) AddWarning(_, text string) { r.texts = append(r.texts, text) }

var decoder = legacyscheme.Codecs.DecoderToVersion(
	jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, legacyscheme.Scheme, legacyscheme.Scheme,
		jsonserializer.SerializerOptions{Strict: true}),
	core.SchemeGroupVersion,
)

var encoder = legacyscheme.Codecs.EncoderForVersion(
	jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, legacyscheme.Scheme, legacyscheme.Scheme,
		jsonserializer.SerializerOptions{}),
	v1.SchemeGroupVersion,
)

func main() {
	// As clusters and kubelets have it, whose own default is that no pod may.
	capabilities.Setup(true, 0)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var asked question
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		line, err := json.Marshal(reply(asked))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		out.Write(line)
		out.WriteByte('\n')
		out.Flush()
	}
}

func reply(asked question) (given answer) {
	given = answer{ID: asked.ID, Problems: []problem{}}
	defer func() {
		if why := recover(); why != nil {
			given.Problems = append(given.Problems, problem{Type: "panic", Detail: fmt.Sprint(why)})
		}
	}()
	text, err := toJSON([]byte(asked.Text))
	if err != nil {
		given.Problems = append(given.Problems, problem{Type: "yaml", Detail: err.Error()})
		return given
	}
	if asked.Kind == "yaml" {
		given.JSON = text
		return given
	}
	object, _, err := decoder.Decode(text, nil, nil)
	if err != nil {
		given.Problems = append(given.Problems, decodingProblems(err)...)
		return given
	}
	wanted, isPod := object.(*core.Pod)
	if !isPod {
		given.Problems = append(given.Problems, problem{Type: "kind", Detail: fmt.Sprintf("%T", object)})
		return given
	}
	validate(wanted, &given)
	return given
}

// toJSON does as kubectl: JSON is read as JSON, with numbers as JavaScript has them, and everything else as YAML.
func toJSON(text []byte) ([]byte, error) {
	var value any
	if json.Valid(text) && utiljson.Unmarshal(text, &value) == nil {
		return json.Marshal(value)
	}
	return yaml.YAMLToJSON(text)
}

func validate(wanted *core.Pod, given *answer) {
	if wanted.Namespace == "" {
		wanted.Namespace = metav1.NamespaceDefault
	}
	heard := &recorder{}
	ctx := warning.WithWarningRecorder(context.Background(), heard)
	ctx = genericrequest.WithNamespace(ctx, wanted.Namespace)
	ctx = genericrequest.WithRequestInfo(ctx, &genericrequest.RequestInfo{
		IsResourceRequest: true, APIVersion: "v1", Resource: "pods", Verb: "create", Namespace: wanted.Namespace,
	})
	rest.FillObjectMetaSystemFields(wanted)
	pod.Strategy.PrepareForCreate(ctx, wanted)
	for _, fault := range pod.Strategy.Validate(ctx, wanted) {
		given.Problems = append(given.Problems,
			problem{Field: fault.Field, Type: string(fault.Type), Detail: fault.ErrorBody()})
	}
	if len(given.Problems) > 0 {
		return
	}
	for _, text := range pod.Strategy.WarningsOnCreate(ctx, wanted) {
		heard.AddWarning("", text)
	}
	given.Warnings = heard.texts
	text, err := runtime.Encode(encoder, wanted)
	if err != nil {
		given.Problems = append(given.Problems, problem{Type: "encoding", Detail: err.Error()})
		return
	}
	given.Pod = json.RawMessage(strings.TrimSpace(string(text)))
}

func decodingProblems(err error) []problem {
	strict, isStrict := runtime.AsStrictDecodingError(err)
	if !isStrict {
		return []problem{{Type: "decoding", Detail: err.Error()}}
	}
	problems := []problem{}
	for _, each := range strict.Errors() {
		problems = append(problems, problem{Type: "strict", Detail: each.Error()})
	}
	return problems
}
