//go:build linux && amd64

package delve

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-delve/delve/service/api"
)

// serve answers the first connection of a listener on loopback with a function.
func serve(t *testing.T, answer func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		answer(c)
	}()
	return l.Addr().String()
}

// jsonRPC answers the requests of a connection by their methods, until goOn is false.
func jsonRPC(answer func(method string) (result any, goOn bool)) func(net.Conn) {
	return func(c net.Conn) {
		in, out := json.NewDecoder(c), json.NewEncoder(c)
		for {
			var r struct {
				Method string `json:"method"`
				ID     any    `json:"id"`
			}
			if in.Decode(&r) != nil {
				return
			}
			result, goOn := answer(r.Method)
			if !goOn {
				return
			}
			_ = out.Encode(map[string]any{"id": r.ID, "result": result, "error": nil})
		}
	}
}

// results are answers by method. A method that is missing gets {}.
func results(known map[string]any) func(string) (any, bool) {
	return func(method string) (any, bool) {
		if result, ok := known[method]; ok {
			return result, true
		}
		return struct{}{}, true
	}
}

// TestGoesAway: a Delve that ends while the kubelet runs is named, and so are the consequences.
func TestGoesAway(t *testing.T) {
	asked := 0
	address := serve(t, jsonRPC(func(method string) (any, bool) {
		if method == "RPCServer.Command" {
			asked++ // the first request stops the program
		}
		return map[string]any{"APIVersion": 2, "Pid": 4711}, asked < 2
	}))
	target, err := dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	_, err = target.run(api.DebuggerCommand{Name: api.Continue})
	if want := "the Delve at " + address + " is gone"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the answer is %v, and not %q", err, want)
	}
	if err := target.leave(); err != nil {
		t.Errorf("it is asked once more: %v", err)
	}
}

// TestDial: a program that is no Delve, or another version of it, gets a clear answer.
func TestDial(t *testing.T) {
	closed := serve(t, func(net.Conn) {})
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := nobody.Addr().String()
	_ = nobody.Close()
	for name, c := range map[string]struct{ address, want string }{
		"nobody":   {gone, "is there a dlv --headless --listen=" + gone},
		"hangs up": {closed, "it does not answer as Delve does"},
		"http": {serve(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}), "it does not answer as Delve does"},
		"another version": {serve(t, jsonRPC(results(map[string]any{
			"RPCServer.GetVersion": map[string]any{"DelveVersion": "1.2.0", "APIVersion": 1},
		}))), "it speaks version 1 of Delve's API"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dial(t.Context(), c.address)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.address) {
				t.Errorf("the answer is %v, and not %q", err, c.want)
			}
		})
	}
	t.Run("silent", func(t *testing.T) {
		address := serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := dial(ctx, address)
		if want := "it accepts a connection and does not answer"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), address) {
			t.Errorf("the answer is %v, and not %q", err, want)
		}
	})
	target, err := dial(t.Context(), serve(t, jsonRPC(results(map[string]any{
		"RPCServer.GetVersion": map[string]any{"DelveVersion": "1.27.2", "APIVersion": 2},
		"RPCServer.ProcessPid": map[string]any{"Pid": 4711},
	}))))
	if err != nil || target.pid != 4711 {
		t.Errorf("a Delve: %+v, %v", target, err)
	}
}
