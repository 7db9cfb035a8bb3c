package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHTTP1: requests that are not HTTP/2, such as cAdvisor's to CRI-O, pass as bytes over one connection. The
// connection is not asked to go by frames that it does not understand.
func TestHTTP1(t *testing.T) {
	listening := filepath.Join(t.TempDir(), "r.sock")
	l, err := net.Listen("unix", listening)
	if err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("0123456789", 20_000)
	release := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-release
		}
		got, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, string(got)+body)
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })

	here, there := pair(t)
	runtime, err := net.Dial("unix", listening)
	if err != nil {
		t.Fatal(err)
	}
	c := New(there, runtime, newWatcher())
	ended := make(chan error, 1)
	go func() { ended <- c.Run() }()
	dials := make(chan net.Conn, 1)
	dials <- here
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		select {
		case one := <-dials:
			return one, nil
		default:
			return nil, errors.New("there is one connection alone")
		}
	}}}
	post := func(path string) {
		t.Helper()
		r, err := client.Post("http://runtime"+path, "text/plain", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		got, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || string(got) != body+body {
			t.Errorf("%d bytes come back, %v", len(got), err)
		}
	}
	post("/")
	post("/")
	asked := make(chan struct{})
	go func() { defer close(asked); post("/slow") }()
	time.Sleep(10 * time.Millisecond)
	c.Drain()
	close(release)
	await(t, asked, "the answer")
	client.CloseIdleConnections()
	if err := await(t, ended, "the end"); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
