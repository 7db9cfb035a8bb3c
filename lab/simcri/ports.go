package simcri

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// portsAnnotation is where the kubelet writes the ports that a container declares.
const portsAnnotation = "io.kubernetes.container.ports"

// declaredPorts returns the container's TCP ports. Without the kubelet's annotation these are the ports of its pod.
func declaredPorts(c *container) []int {
	var ports []int
	text, ok := c.config.GetAnnotations()[portsAnnotation]
	if !ok {
		for _, m := range c.sandbox.config.GetPortMappings() {
			if m.GetProtocol() == runtimeapi.Protocol_TCP {
				ports = append(ports, int(m.GetContainerPort()))
			}
		}
		return ports
	}
	var all []struct {
		ContainerPort int    `json:"containerPort"`
		Protocol      string `json:"protocol"`
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil // the kubelet did not write it
	}
	for _, p := range all {
		if p.ContainerPort > 0 && (p.Protocol == "TCP" || p.Protocol == "") {
			ports = append(ports, p.ContainerPort)
		}
	}
	return ports
}

// open opens a port of the pod, and the node's port that leads to it, if any.
func (t *task) open(address string, port int) ([]net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	all := []net.Listener{l}
	for _, m := range t.c.sandbox.config.GetPortMappings() {
		if int(m.GetContainerPort()) != port || m.GetHostPort() == 0 || m.GetProtocol() != runtimeapi.Protocol_TCP || t.c.sandbox.hostNetwork() {
			continue
		}
		host := cmp.Or(m.GetHostIp(), t.nodeAddress)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(int(m.GetHostPort()))))
		if err != nil {
			fmt.Fprintf(t.c.log.stream("stderr"), "simcri: the host port %d is closed: %v\n", m.GetHostPort(), err)
			continue
		}
		all = append(all, l)
	}
	return all, nil
}

// listen answers HTTP, and gRPC health checks, on a port of the pod until the
// context ends. Until the container is ready the port is closed.
func (t *task) listen(ctx context.Context, address string, port int, answer http.Handler) error {
	if err := pass(ctx, t.c.behaviour.readyAfter-time.Since(t.began)); err != nil {
		return nil
	}
	listeners, err := t.open(address, port)
	if err != nil {
		return err
	}
	checks := grpc.NewServer()
	defer checks.Stop()
	healthpb.RegisterHealthServer(checks, health.NewServer())
	server := &http.Server{
		Handler:           t.handler(answer, checks),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       30 * time.Second,
		Protocols:         new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	var serving sync.WaitGroup
	for _, l := range listeners {
		serving.Go(func() { server.Serve(eitherListener{l}) }) // it ends with an error in any case
	}
	serving.Wait()
	return nil
}

// handler answers as the annotations state, or else as the program does.
func (t *task) handler(answer http.Handler, checks *grpc.Server) http.Handler {
	b := t.c.behaviour
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") && t.ready() {
			checks.ServeHTTP(w, r)
			return
		}
		code, ok := b.httpStatus[r.URL.Path]
		if !ok {
			code, ok = b.httpStatus[""]
		}
		switch {
		case ok:
			http.Error(w, http.StatusText(code), code)
		case !t.ready():
			http.Error(w, "unhealthy", http.StatusInternalServerError)
		default:
			answer.ServeHTTP(w, r)
		}
	})
}

// answerOK answers for a program that is not understood.
var answerOK = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "ok")
})

// serveFiles answers as httpd does.
func serveFiles(files *files, dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Join(dir, path.Clean("/"+r.URL.Path))
		if info, err := files.Stat(name); err == nil && info.IsDir() {
			name = path.Join(name, "index.html")
		}
		f, err := files.Open(name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer f.Close()
		w.Header().Set("Content-Type", "text/html")
		io.Copy(w, f)
	})
}
