package canary

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

// TestFind: a value is found in each encoding, whatever stands beside it, even if only its beginning or its end is
// left.
func TestFind(t *testing.T) {
	s := NewSet()
	for name, v := range map[string]string{"plain": s.Value("plain"), "hard": s.Hard("hard")} {
		j, _ := json.Marshal("a" + v + "b")
		texts := map[string]string{
			"plain": "x" + v, "beginning": v[:14] + "...", "end": "..." + v[len(v)-14:], "JSON": string(j), "Go": fmt.Sprintf("%q", "a"+v),
			"URL": url.QueryEscape(v), "path": url.PathEscape(v), "hex": hex.EncodeToString([]byte(v)), "HEX": fmt.Sprintf("%X", v),
		}
		for shift := range 4 {
			in := []byte("user:"[:shift] + v + "ab")
			texts[fmt.Sprint("base64 ", shift)] = base64.StdEncoding.EncodeToString(in)
			texts[fmt.Sprint("base64 for URLs ", shift)] = base64.RawURLEncoding.EncodeToString(in)
		}
		for how, text := range texts {
			if found := s.FindString("before " + text + " after"); len(found) != 1 || found[0].Name != name {
				t.Errorf("%s value in %s: %v in %s", name, how, found, text)
			}
		}
	}
	if found := s.FindString("nothing of it here, " + NewSet().Value("plain")); found != nil {
		t.Errorf("found %v", found)
	}
}

// TestFindInEvents: a value is found in an event on the wire and in a trace file.
func TestFindInEvents(t *testing.T) {
	s := NewSet()
	b := eventtest.Batch(&agentpb.Event{Seq: 1, Fields: []*agentpb.Field{eventtest.Field("message", "so "+s.Hard("text"))}})
	found, err := s.FindBatch(b)
	if err != nil || len(found) != 1 {
		t.Errorf("found %v, %v in a batch", found, err)
	}
	path := filepath.Join(t.TempDir(), "trace.podstep")
	w, err := trace.Create(path, &trace.Header{Info: &agentpb.InfoResponse{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	found, events, err := s.FindTrace(path)
	if err != nil || events != 1 || len(found) != 1 || !bytes.Contains([]byte(found[0].Around), []byte("so ")) {
		t.Errorf("found %v in %d events of a trace file, %v", found, events, err)
	}
}
