package gather

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/canary"
	"github.com/podstep/podstep/agent/redact"
)

var update = flag.Bool("update", false, "write the golden files anew")

// filler fills every text of an object with a value of its own, by type and member.
type filler struct {
	set    *canary.Set
	within []reflect.Type // which a type may be in again
}

func (f *filler) fill(v reflect.Value, name string) {
	t := v.Type()
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		f.fill(v.Elem(), name)
	case reflect.Struct:
		f.members(v)
	case reflect.String:
		v.SetString(f.set.Value(name))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`"` + f.set.Value(name) + `"`)) // FieldsV1 is JSON
			return
		}
		v.Set(reflect.MakeSlice(t, 2, 2))
		f.fill(v.Index(0), name)
		f.fill(v.Index(1), name+" again")
	case reflect.Map:
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		f.fill(key, name+" key")
		f.fill(value, name)
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(key, value)
	}
}

func (f *filler) members(v reflect.Value) {
	t := v.Type()
	switch v.Interface().(type) {
	case metav1.Time, metav1.MicroTime, resource.Quantity:
		return
	}
	if slices.Contains(f.within, t) {
		return
	}
	f.within = append(f.within, t)
	for i := range t.NumField() {
		f.fill(v.Field(i), t.Name()+"."+t.Field(i).Name)
	}
	f.within = f.within[:len(f.within)-1]
}

// TestEveryMember fills each text of a pod with a value of its own, and looks which values are left of the pod. The list of
// these is a golden, which a new version of the API must not change by itself.
func TestEveryMember(t *testing.T) {
	f := filler{set: canary.NewSet()}
	p := &corev1.Pod{}
	f.fill(reflect.ValueOf(p).Elem(), "")
	whole, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	before := string(whole)
	shown, err := json.Marshal(trimmed(p))
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(p); string(after) != before {
		t.Error("the pod itself was changed")
	}
	var out []string
	for _, found := range f.set.Find(shown) {
		out = append(out, found.Name)
	}
	slices.Sort(out)
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
	if string(want) != got {
		t.Errorf("other texts are shown than %s lists (-update writes it anew; look at each): %s", golden, got)
	}
	for _, never := range []string{
		"EnvVar.Value", "Container.Command again", "Container.Args", "ExecAction.Command again", "HTTPGetAction.Path", "HTTPHeader.Value", "ObjectMeta.Annotations", "CSIVolumeSource.VolumeAttributes",
		"CSIVolumeSource.VolumeAttributes key", "FlexVolumeSource.Options", "HostAlias.Hostnames", "Sysctl.Value", "ContainerStateTerminated.Message", "FieldsV1.Raw",
		"PodCertificateProjection.UserAnnotations", "WindowsSecurityContextOptions.GMSACredentialSpec",
	} {
		if slices.Contains(out, never) {
			t.Errorf("%s is shown", never)
		}
	}
}

// TestNamesOfSecrets: a value is left out that stands under the name of a secret, and credentials in an address.
func TestNamesOfSecrets(t *testing.T) {
	const secret = "hunter2"
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", "token": secret}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"api-key": secret, "disk": "ssd"},
			Tolerations:  []corev1.Toleration{{Key: "password", Value: secret}, {Key: "team", Value: "blue"}},
			Volumes:      []corev1.Volume{{Name: "git", VolumeSource: corev1.VolumeSource{GitRepo: &corev1.GitRepoVolumeSource{Repository: "https://robot:" + secret + "@git.example/it"}}}},
			Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"password": secret}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "token", Operator: "In", Values: []string{secret}}, {Key: "app", Operator: "In", Values: []string{"web"}}},
			}}}}},
		},
	}
	out := trimmed(p)
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), secret) {
		t.Errorf("a secret is left: %s", b)
	}
	if out.Labels["app"] != "web" || out.Labels["token"] != redact.Redacted || out.Spec.NodeSelector["disk"] != "ssd" || out.Spec.Tolerations[1].Value != "blue" ||
		out.Spec.Volumes[0].GitRepo.Repository != "https://"+redact.Redacted+"@git.example/it" ||
		out.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchExpressions[1].Values[0] != "web" {
		t.Errorf("it becomes %s", b)
	}
}
