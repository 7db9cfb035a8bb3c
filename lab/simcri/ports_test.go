package simcri

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"runtime"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

type answer struct {
	code int
	body string
}

// get requests a URL until the port is open.
func get(t *testing.T, url string) answer {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for {
		r, err := client.Get(url)
		if errors.Is(err, syscall.ECONNREFUSED) && t.Context().Err() == nil {
			runtime.Gosched()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		return answer{r.StatusCode, string(body)}
	}
}

func (n *node) exec(id string, code int32, command ...string) *runtimeapi.ExecSyncResponse {
	n.t.Helper()
	r, err := n.ExecSync(n.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: command, Timeout: 30})
	if err != nil {
		n.t.Fatal(err)
	}
	if r.ExitCode != code {
		n.t.Errorf("%q: exit code %d, want %d: %s%s", command, r.ExitCode, code, r.Stdout, r.Stderr)
	}
	return r
}

// touchLast makes a file for which the program of a container waits before it ends. The runtime may end the command with
// the container, after it has made the file.
func (n *node) touchLast(id, file string) {
	n.t.Helper()
	if _, err := n.ExecSync(n.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"touch", file}, Timeout: 30}); err != nil {
		n.t.Fatal(err)
	}
}

// serve runs a program that is not understood, with a declared port.
func (n *node) serve(name string, annotations map[string]string) (id, address string) {
	n.t.Helper()
	config := n.pod(name, annotations)
	box := n.run(config)
	id = n.createFrom(box, config, &runtimeapi.ContainerConfig{Command: []string{"my-server", "--serve"}, Annotations: map[string]string{
		portsAnnotation: `[{"containerPort":18081,"protocol":"TCP"},{"containerPort":53,"protocol":"UDP"}]`}})
	n.begin(id)
	st, err := n.PodSandboxStatus(n.ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: box})
	if err != nil {
		n.t.Fatal(err)
	}
	return id, st.Status.Network.Ip + ":18081"
}

func TestHealthProbes(t *testing.T) {
	n := start(t, "")
	id, address := n.serve("ok", nil)
	if a := get(t, "http://"+address+"/healthz"); a.code != 200 {
		t.Error(a)
	}
	if a := get(t, "https://"+address+"/healthz"); a.code != 200 {
		t.Error(a)
	}
	n.exec(id, 0, "my-check")

	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r, err := healthpb.NewHealthClient(conn).Check(n.ctx, &healthpb.HealthCheckRequest{})
	if err != nil || r.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("gRPC: %v %v", r, err)
	}

	_, address = n.serve("split", map[string]string{Prefix + "http-status": "/ready=503, /live=200"})
	if a := get(t, "http://"+address+"/ready"); a.code != 503 {
		t.Error(a)
	}
	if a := get(t, "http://"+address+"/live"); a.code != 200 {
		t.Error(a)
	}

	id, address = n.serve("never", map[string]string{Prefix + "app.ready-after": "forever"})
	if _, err := http.Get("http://" + address + "/"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v of a container that is never ready", err)
	}
	n.exec(id, 1, "my-check")

	id, address = n.serve("ill", map[string]string{Prefix + "unhealthy-after": "1ns"})
	if a := get(t, "http://"+address+"/"); a.code != 500 {
		t.Error(a)
	}
	n.exec(id, 1, "my-check")
	n.exec(id, 0, "true")

	id, _ = n.serve("exec", map[string]string{Prefix + "exec-exit": "3", Prefix + "exec-output": "not yet"})
	if r := n.exec(id, 3, "true"); string(r.Stdout) != "not yet\n" {
		t.Errorf("%q", r.Stdout)
	}
}
