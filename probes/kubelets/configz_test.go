package kubelets

import (
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// serves returns a kubelet that gives these answers.
func serves(t *testing.T, answers map[string]string) (Kubelet, *http.Client) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			http.Error(w, "Forbidden", http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	host, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	k := Kubelet{PID: 7, Address: host, ReadOnlyPort: 10255, RuntimeEndpoint: containerd, ImageEndpoint: containerd, CgroupRoot: "/a", Problems: []string{"one"}}
	if k.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	return k, s.Client()
}

func TestConfigz(t *testing.T) {
	const metrics = "# HELP kubernetes_build_info [BETA] x\nkubernetes_build_info{build_date=\"x\",git_version=\"v1.35.4+k3s1\",go_version=\"go1.25\"} 1\n"
	for _, c := range []struct {
		name    string
		answers map[string]string
		differs func(*Kubelet)
		err     string
	}{
		{"of today", map[string]string{"/configz": `{"kubeletconfig":{"address":"127.0.0.1","containerRuntimeEndpoint":"unix:///run/crio/crio.sock","cgroupRoot":"/b"}}`, "/metrics": metrics},
			func(k *Kubelet) {
				k.Address, k.CgroupRoot, k.ReadOnlyPort, k.Version = "127.0.0.1", "/b", 0, "v1.35.4+k3s1"
				k.RuntimeEndpoint, k.ImageEndpoint = "/run/crio/crio.sock", "/run/crio/crio.sock"
				k.Problems = append(k.Problems, "its /configz says its runtime is at /run/crio/crio.sock, and not at "+containerd)
			}, ""},
		{"of old, without endpoints", map[string]string{"/configz": `{"kubeletconfig":{"readOnlyPort":1}}`},
			func(k *Kubelet) { k.ReadOnlyPort = 1 }, ""},
		{"with images elsewhere", map[string]string{"/configz": `{"kubeletconfig":{"containerRuntimeEndpoint":"unix://` + containerd + `","imageServiceEndpoint":"unix:///i.sock"}}`},
			func(k *Kubelet) { k.ReadOnlyPort, k.ImageEndpoint = 0, "/i.sock" }, ""},
		{"that says no", nil, func(*Kubelet) {}, "403 Forbidden"},
		{"that says something else", map[string]string{"/configz": `{}`}, func(*Kubelet) {}, "it has no kubeletconfig"},
		{"that says nonsense", map[string]string{"/configz": `<html>`}, func(*Kubelet) {}, "parse /configz: "},
		{"that never ends", map[string]string{"/configz": strings.Repeat(" ", maxAnswer+1)}, func(*Kubelet) {}, "longer than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, client := serves(t, c.answers)
			got, err := Configz(t.Context(), k, client)
			if text := errText(err); (c.err == "") != (err == nil) || !strings.Contains(text, c.err) {
				t.Errorf("error %q, want %q", text, c.err)
			}
			want := k
			want.Problems = []string{"one"}
			c.differs(&want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%+v, want\n%+v", got, want)
			}
		})
	}
}

func TestURL(t *testing.T) {
	for _, c := range []struct {
		k    Kubelet
		want string
	}{
		{Kubelet{Address: "0.0.0.0", Port: 10250}, "https://127.0.0.1:10250/pods"},
		{Kubelet{Address: "::", Port: 1}, "https://127.0.0.1:1/pods"},
		{Kubelet{Port: 2}, "https://127.0.0.1:2/pods"},
		{Kubelet{Address: "fe80::1", Port: 3}, "https://[fe80::1]:3/pods"},
		{Kubelet{Address: "10.0.0.1", Port: 4}, "https://10.0.0.1:4/pods"},
		{Kubelet{Address: "10.0.0.1"}, ""},
	} {
		if got := c.k.URL("/pods"); got != c.want {
			t.Errorf("URL %s, want %s", got, c.want)
		}
	}
	if _, err := Configz(t.Context(), Kubelet{PID: 7}, http.DefaultClient); err == nil || err.Error() != "ask kubelet 7: its port is switched off" {
		t.Errorf("error %v", err)
	}
}
