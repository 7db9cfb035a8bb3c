package redact

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/canary"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestEveryMessage fills each text and bytes field of every message of the CRI with a value of its own, and looks
// which values are shown. The list of these is a golden, which a new version of the CRI must not change by itself.
func TestEveryMessage(t *testing.T) {
	var out []string
	messages := (&runtimeapi.PodSandboxConfig{}).ProtoReflect().Descriptor().ParentFile().Messages()
	for i := range messages.Len() {
		f := filler{set: canary.NewSet()}
		m := dynamicpb.NewMessage(messages.Get(i))
		f.fill(m, nil)
		if len(f.set.Names()) == 0 {
			continue
		}
		b, err := protojson.Marshal(Message(m))
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, found := range f.set.Find(b) {
			names[found.Name] = true
		}
		for _, name := range f.set.Names() {
			// A message that is part of another is shown there as by itself.
			if names[name] && !strings.Contains(name, " ") {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	got := strings.Join(out, "\n") + "\n"
	const golden = "testdata/shown.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("fields that are shown have changed; is there no secret in them? Then go test -update.\n%s", got)
	}
}

// filler fills a message with values, each named after where it is.
type filler struct{ set *canary.Set }

// deepest bounds the depth of messages that contain themselves.
const deepest = 6

func (f filler) fill(m protoreflect.Message, path []string) {
	if len(path) > deepest {
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		d := fields.Get(i)
		here := append(slices.Clone(path), string(m.Descriptor().Name())+"."+string(d.Name()))
		switch {
		case d.IsMap():
			f.fillMap(m.Mutable(d).Map(), d, here)
		case d.IsList():
			to := m.Mutable(d).List()
			for range 2 { // a command's program is shown otherwise than its arguments
				if d.Kind() == protoreflect.MessageKind {
					v := to.NewElement()
					f.fill(v.Message(), here)
					to.Append(v)
				} else if v, ok := f.value(d, here); ok {
					to.Append(v)
				}
			}
		case d.Kind() == protoreflect.MessageKind:
			f.fill(m.Mutable(d).Message(), here)
		default:
			if v, ok := f.value(d, here); ok {
				m.Set(d, v)
			}
		}
	}
}

func (f filler) value(d protoreflect.FieldDescriptor, path []string) (protoreflect.Value, bool) {
	switch d.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(f.set.Value(strings.Join(path, " "))), true
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(f.set.Value(strings.Join(path, " ")))), true
	}
	return protoreflect.Value{}, false
}

func (f filler) fillMap(to protoreflect.Map, d protoreflect.FieldDescriptor, path []string) {
	if d.MapKey().Kind() != protoreflect.StringKind || d.MapValue().Kind() != protoreflect.StringKind {
		return
	}
	name := strings.Join(path, " ")
	set := func(key, what string) {
		to.Set(protoreflect.ValueOfString(key).MapKey(), protoreflect.ValueOfString(f.set.Value(name+what)))
	}
	set(f.set.Value(name+"{key}"), "{value}")
	set("io.kubernetes.container.hash", "{io.kubernetes.container.hash}")
	set("io.kubernetes.container.preStopHandler", "{io.kubernetes.container.preStopHandler}")
	set("db-password", "{db-password}")
}

// TestUnknownFields: what this version of the CRI does not know is left out.
func TestUnknownFields(t *testing.T) {
	m := &runtimeapi.PodSandboxConfig{Hostname: "web"}
	m.ProtoReflect().SetUnknown(protoreflect.RawFields("\xa2\x7d\x06secret"))
	out := Message(m)
	if len(out.ProtoReflect().GetUnknown()) > 0 || out.(*runtimeapi.PodSandboxConfig).Hostname != "web" {
		t.Errorf("shown is %v", out)
	}
	if len(m.ProtoReflect().GetUnknown()) == 0 {
		t.Error("the kubelet's own message was changed")
	}
}

// TestOtherMessages: no text is shown of a message that is not of the CRI.
func TestOtherMessages(t *testing.T) {
	b, err := protojson.Marshal(Message(&agentpb.Pod{Id: 1, Name: "hush", Uid: "hush"}))
	if err != nil || strings.Contains(string(b), "hush") || !strings.Contains(string(b), "1") {
		t.Errorf("shown is %s, %v", b, err)
	}
}

// TestKubeletsAnnotations: of the annotations of a container that the kubelet made, harmless ones are shown, and not
// hooks, manifests and those of people.
func TestKubeletsAnnotations(t *testing.T) {
	config := &runtimeapi.ContainerConfig{Annotations: map[string]string{
		"io.kubernetes.container.hash": "13f6cc20", "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
		"io.kubernetes.container.preStopHandler":           `{"httpGet":{"httpHeaders":[{"name":"X","value":"hush"}]}}`,
		"kubectl.kubernetes.io/last-applied-configuration": `hush`, "kapp.k14s.io/original": "hush", "meta.helm.sh/release-name": "hush",
		"objectset.rio.cattle.io/applied": "hush", "argocd.argoproj.io/tracking-id": "hush", "my.example/note": "hush",
	}}
	got := Message(config).(*runtimeapi.ContainerConfig).Annotations
	for k, v := range got {
		if strings.Contains(v, "hush") {
			t.Errorf("%s is shown: %s", k, v)
		}
	}
	if len(got) != len(config.Annotations) || got["io.kubernetes.container.hash"] != "13f6cc20" || got["io.kubernetes.container.terminationMessagePath"] != "/dev/termination-log" {
		t.Errorf("shown is %v", got)
	}
}

// TestContainerWords: the program of a command and the names of its options are shown, and nothing that the kubelet
// has expanded into them.
func TestContainerWords(t *testing.T) {
	long := strings.Repeat("long-secret-", 1000)
	for _, c := range []struct {
		name         string
		values, args []string
		want         []string
	}{
		{"alone", []string{"hunter2"}, []string{"run", "hunter2"}, []string{"run", Redacted}},
		{"in a word", []string{"hunter2"}, []string{"run", "--key=hunter2,x"}, []string{"run", "--key=" + Redacted}},
		{"in the program", []string{"hunter", "hunter2-and-more"}, []string{"/hunter2-and-more"}, []string{"/" + Redacted}},
		{"longer than a word is shown", []string{long}, []string{long}, []string{Redacted}},
		{"option", nil, []string{"mysql", "-psecret", "-u", "root", "--opt", "-v", "--", "x"}, []string{"mysql", "-p" + Redacted, "-u", Redacted, "--opt", "-v", "--", Redacted}},
		{"script", nil, []string{"sh", "-c", "echo secret"}, []string{"sh", "-c", Redacted}},
		{"one word", nil, []string{"sh -c 'echo secret'"}, []string{Redacted}},
		{"empty", []string{""}, []string{"run", ""}, []string{"run", ""}},
	} {
		config := &runtimeapi.ContainerConfig{Args: c.args, Command: c.args}
		for _, v := range c.values {
			config.Envs = append(config.Envs, &runtimeapi.KeyValue{Key: "K", Value: []byte(v)})
		}
		before := proto.CloneOf(config)
		got := Message(config).(*runtimeapi.ContainerConfig)
		if !slices.Equal(got.Command, c.want) {
			t.Errorf("%s: the words are %q, want %q", c.name, got.Command, c.want)
		}
		// If the image names the program, the arguments do not begin with one.
		if c.want[0] = Redacted; !slices.Equal(got.Args, c.want) {
			t.Errorf("%s: the arguments are %q, want %q", c.name, got.Args, c.want)
		}
		for i, e := range got.Envs {
			if len(e.Value) > 0 || e.Key != "K" {
				t.Errorf("%s: variable %d is %v", c.name, i, e)
			}
		}
		if !proto.Equal(config, before) {
			t.Errorf("%s: the kubelet's own message was changed", c.name)
		}
	}
}
