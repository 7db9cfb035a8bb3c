package dap

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"testing"
	"time"
)

// closed is a connection whose other end has sent what it sends, and reads nothing.
type closed struct {
	io.Reader
	io.Writer
}

func (closed) Close() error { return nil }

// FuzzMessages gives a session any bytes, and any requests while it replays a recording. It ends, and does not panic.
func FuzzMessages(f *testing.F) {
	for _, name := range []string{"neovim", "vscode", "zed"} {
		text, err := os.ReadFile("testdata/" + name + ".jsonl")
		if err != nil {
			f.Fatal(err)
		}
		for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
			f.Add(line)
		}
	}
	for _, text := range []string{"", "{}", "null", `{"type":"request"}`, `{"type":"request","command":"continue","arguments":{"threadId":"x"}}`, `{"type":"event","event":"x"}`,
		`{"type":"response","command":"runInTerminal"}`, `{"seq":-1,"type":"request","command":"evaluate","arguments":{"expression":"break \u0000"}}`,
		`{"type":"request","command":"setBreakpoints","arguments":{"source":{"path":"pkg/kubelet/kubelet.go"},"breakpoints":[{"line":-5,"logMessage":"{"}]}}`} {
		f.Add([]byte(text))
	}
	sel, err := podsOf("no-image", "")
	if err != nil {
		f.Fatal(err)
	}
	reader := newSession(context.Background(), io.Discard, Options{Open: openTrace})
	defer reader.close()
	read, err := newReplay(context.Background(), reader, sel, &launchArguments{Trace: names{labTrace}}, 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		s := newSession(t.Context(), &out, Options{})
		s.ready = true
		s.target = &replay{s: s, st: read.st, ps: &points{groups: map[string][]*point{}, enter: read.ps.enter, of: read.ps.of}, pods: maps.Clone(read.pods)}
		s.target.configured()
		s.handle(text)
		s.close() // now all is written
		if bytes.Contains(out.Bytes(), []byte("podstep failed at this request")) {
			t.Errorf("%s", out.Bytes())
		}
		var framed bytes.Buffer
		fmt.Fprintf(&framed, "Content-Length: %d\r\n\r\n", len(text))
		framed.Write(text)
		for _, in := range [][]byte{text, framed.Bytes()} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_ = Serve(ctx, closed{bytes.NewReader(in), io.Discard}, Options{})
			if ctx.Err() != nil {
				t.Errorf("the session does not end after %q", in)
			}
			cancel()
		}
	})
}
