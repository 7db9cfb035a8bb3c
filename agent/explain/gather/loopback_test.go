package gather

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// TestLoopback: the kubelet of a node with a loopback address is asked directly, but only if the API server is on this
// machine, too.
func TestLoopback(t *testing.T) {
	var asked atomic.Int32
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == pathHealthz {
			_, _ = w.Write([]byte("ok"))
			return
		}
		http.NotFound(w, r)
	}))
	defer kubelet.Close()
	at, err := url.Parse(kubelet.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(at.Port())
	for name, c := range map[string]struct {
		address, server string
		port            int
		want            bool
	}{
		"a lab":                {"127.0.0.1", "", port, true},
		"a node elsewhere":     {"192.0.2.7", "", port, false},
		"a server elsewhere":   {"127.0.0.1", "https://192.0.2.7:6443", port, false},
		"no port":              {"127.0.0.1", "", 0, false},
		"a server with a name": {"127.0.0.1", "api.example:6443", port, false},
	} {
		asked.Store(0)
		node := &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: c.address}}}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(c.port)
		server := apitest.Start(t, apitest.Objects{"api/v1/nodes/no-such-node": node})
		login := server.Config()
		if c.server != "" {
			login = &rest.Config{Host: c.server}
		}
		s := look(t, &Kubelet{API: server.Client(t), Near: &Nearby{Login: login}}, onNode(""))
		if _, has := s.Origin(evidence.Port, pathHealthz); has != c.want || (asked.Load() > 0) != c.want {
			t.Errorf("%s: asked %d times, the origins are %+v", name, asked.Load(), s.Origins)
		}
	}
}
