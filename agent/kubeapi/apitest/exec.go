package apitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// Exec plays the exec of a pod. It runs commands in the test's process.
type Exec struct {
	// OnlySPDY refuses WebSockets, as API servers before Kubernetes 1.30 do.
	OnlySPDY bool
	// Run runs a command in a pod, and returns its exit code.
	Run func(pod string, command []string, in io.Reader, out, errOut io.Writer) int

	mu   sync.Mutex
	open map[io.Closer]bool
}

// ServeHTTP serves a request for .../pods/{pod}/exec.
func (e *Exec) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pod, command := r.PathValue("pod"), r.URL.Query()["command"]
	switch {
	case wsstream.IsWebSocketRequest(r) && e.OnlySPDY:
		Fail(w, http.StatusBadRequest, "this server knows no WebSockets")
	case wsstream.IsWebSocketRequest(r):
		e.webSocket(w, r, pod, command)
	default:
		e.spdy(w, r, pod, command)
	}
}

// Cut breaks all connections, as an API server that ends does.
func (e *Exec) Cut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.open {
		_ = c.Close()
	}
}

// keep lets Cut find a connection until the returned function is called.
func (e *Exec) keep(c io.Closer) (drop func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		e.open = map[io.Closer]bool{}
	}
	e.open[c] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.open, c)
		_ = c.Close()
	}
}

func (e *Exec) webSocket(w http.ResponseWriter, r *http.Request, pod string, command []string) {
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{remotecommand.StreamProtocolV5Name: {
		Binary:   true,
		Channels: []wsstream.ChannelType{wsstream.ReadChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.ReadChannel},
	}})
	_, streams, err := conn.Open(w, r)
	if err != nil {
		return
	}
	defer e.keep(conn)()
	_, _ = streams[1].Write(nil) // a server sends an empty message first, so that the client knows that it goes on
	code := e.Run(pod, command, streams[0], streams[1], streams[2])
	writeCode(streams[3], code)
}

func (e *Exec) spdy(w http.ResponseWriter, r *http.Request, pod string, command []string) {
	if _, err := httpstream.Handshake(r, w, []string{remotecommand.StreamProtocolV4Name}); err != nil {
		return
	}
	opened := make(chan httpstream.Stream, 4)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, replied <-chan struct{}) error {
		go func() {
			<-replied
			opened <- s
		}()
		return nil
	})
	if conn == nil {
		return
	}
	defer e.keep(conn)()
	streams := map[string]httpstream.Stream{}
	for len(streams) < 4 {
		select {
		case s := <-opened:
			streams[s.Headers().Get("streamType")] = s
		case <-conn.CloseChan():
			return
		}
	}
	code := e.Run(pod, command, streams["stdin"], streams["stdout"], streams["stderr"])
	for _, name := range []string{"stdout", "stderr"} {
		_ = streams[name].Close()
	}
	writeCode(streams["error"], code)
	_ = streams["error"].Close()
	<-conn.CloseChan() // the client ends the connection
}

// writeCode reports how a command ended, as the kubelet does.
func writeCode(w io.Writer, code int) {
	status := metav1.Status{Status: metav1.StatusSuccess}
	if code != 0 {
		status = metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason, Message: fmt.Sprintf("command terminated with exit code %d", code),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(code)}}},
		}
	}
	text, _ := json.Marshal(status)
	_, _ = w.Write(text)
}
