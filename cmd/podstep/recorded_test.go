package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/trace/past"
)

// realNode is two minutes of a real node.
const realNode = "../../agent/trace/testdata/node.podstep"

// recordTrace makes a record directory with the events of a trace, as podstep leaves it when it is killed.
func recordTrace(t *testing.T, path string) past.Dir {
	t.Helper()
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h := *r.Header()
	h.Began, h.Segment = time.Date(2026, 11, 21, 11, 42, 45, 0, time.UTC), &trace.Segment{Run: "run"}
	dir := t.TempDir()
	w, err := trace.Create(filepath.Join(dir, "0000000001-20261121T114245Z.podstep"), &h)
	for err == nil {
		var b *agentpb.Batch
		if b, err = r.Next(); err == nil {
			err = w.Add(b)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	w.Abandon()
	return past.Dir(dir)
}

// recordingAgent is an agent of a node that has a record.
type recordingAgent struct {
	agenttest.Agent
	dir past.Dir
}

func (r *recordingAgent) Stats(context.Context, *agentpb.StatsRequest) (*agentpb.StatsResponse, error) {
	return &agentpb.StatsResponse{Record: &agentpb.RecordDir{Dir: string(r.dir)}}, nil
}

func (r *recordingAgent) Segments(in *agentpb.SegmentsRequest, out grpc.ServerStreamingServer[agentpb.Segment]) error {
	all, err := r.dir.Segments(in.GetPods())
	for _, s := range all {
		if err := out.Send(s); err != nil {
			return err
		}
	}
	return err
}

func (r *recordingAgent) ReadSegment(in *agentpb.ReadSegmentRequest, out grpc.ServerStreamingServer[agentpb.SegmentBytes]) error {
	return r.dir.Read(in.GetName(), func(b []byte) error { return out.Send(&agentpb.SegmentBytes{Data: b}) })
}

func (r *recordingAgent) Watch(_ *agentpb.WatchRequest, out grpc.ServerStreamingServer[agentpb.Batch]) error {
	if err := out.Send(&agentpb.Batch{CaughtUp: true}); err != nil {
		return err
	}
	return status.FromContextError(out.Context().Err()).Err()
}

// serveRecord serves an agent with the record of the real node. It returns how the agent is named.
func serveRecord(t *testing.T, dir past.Dir, node string) string {
	t.Helper()
	about := agenttest.Info()
	about.Node = "node-1" // that of the record
	path := filepath.Join(shortDir(t), "a")
	agenttest.Serve(t, &recordingAgent{agenttest.Agent{About: about}, dir}, path)
	return "--socket " + node + "=" + path
}

// TestPastOfAgents asks agents what they have recorded. Each answer is that of the directory itself.
func TestPastOfAgents(t *testing.T) {
	dir := recordTrace(t, realNode)
	one := serveRecord(t, dir, "one")
	many := one + " " + serveRecord(t, recordTrace(t, "../../agent/trace/testdata/v1.podstep"), "two")
	for _, c := range []struct{ of, at, flags string }{
		{"pods", "DIR", "--at 2026-11-21T11:44:00Z"},
		{"pods crashloop -o json", "DIR", "--at 2026-11-21T11:44:00Z"},
		{"why crashloop", "DIR", "--at 2026-11-21T11:44:00Z"},
		{"why -A -o json", "DIR", "--at 2026-11-21T11:44:00Z"},
		{"export POD crashloop --to json", "FILE", "--since 2026-11-21T11:43:30Z"},
		{"top -o json", "DIR", "--since 2026-11-21T11:43:30Z"},
		{"top crashloop -o wide", "DIR", "--since 2026-11-21T11:43:30Z --until 2026-11-21T11:44:00Z"},
		{"compare crashloop no-image -o json", "DIR", "--since 2026-11-21T11:00:00Z"},
		{"alert err", "DIR", "--since 2026-11-21T11:43:30Z"},
		{"alert err crashloop -o json --once", "DIR", "--since 2026-11-21T11:43:30Z"},
	} {
		args := strings.Fields(c.of + " " + c.flags)
		fromDir := append(slices.Clone(args), "--trace", string(dir))
		if args[0] == "alert" {
			fromDir[len(args)] = "--file"
		}
		if c.at == "FILE" {
			fromDir = strings.Fields(strings.Replace(c.of, "POD", string(dir), 1) + " " + c.flags)
			args = strings.Fields(strings.Replace(c.of, "POD ", "", 1) + " " + c.flags)
		}
		want, code := printed(t, fromDir)
		if want == "" {
			t.Errorf("%s: the directory has nothing", c.of)
		}
		got, gotCode := printed(t, append(args, strings.Fields(one)...))
		if got != want || gotCode != code {
			t.Errorf("%s from the agent:\n%.600s\nfrom its directory:\n%.600s", c.of, got, want)
		}
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"pods --at 2026-11-21T11:44:00Z", exitDone, "one "},
		{"why crashloop --at 2026-11-21T11:44:00Z --node one", exitWrong, "crashloop"},
		{"replay --since 2026-11-21T11:43:30Z crashloop --plain", exitDone, "default/crashloop"},
		{"replay --since 2026-11-21T11:43:30Z --plain", exitUsage, "choose it with --node"},
		{"trace crashloop --since 2026-11-21T11:43:30Z --for 1s --node one", exitDone, "rt.backoff"},
		{"top --since 2026-11-21T11:43:30Z -o wide", exitDone, "NODE"},
		{"top --since 2026-11-21T11:43:30Z --save x.json", exitUsage, "choose it with --node"},
		{"compare crashloop no-image --since 2026-11-21T11:00:00Z", exitDone, "crashloop"},
		{"compare crashloop nobody --since 2026-11-21T11:00:00Z", exitFailed, "no pod nobody on the 2 nodes"},
		{"compare crashloop nobody --since 2026-11-21T11:00:00Z --node one", exitFailed, "podstep replay --since"},
		{"alert err crashloop --since 2026-11-21T11:43:30Z", exitDone, "one  default/crashloop"},
		{"alert err no* --once --since 2026-11-21T11:43:30Z -o json", exitDone, "\"node\":\"one\""},
		{"alert err nobody --once --since 2026-11-21T11:43:30Z", exitFailed, "nothing that the agents have recorded matches"},
		{"alert err --since 1h --for 1m", exitUsage, "a recording ends by itself"},
		{"alert err --node-year 2025", exitUsage, "name one with --file"},
		{"trace crashloop --since 1h -w x.podstep", exitUsage, "podstep export --since"},
	} {
		got, code := printed(t, strings.Fields(c.args+" "+many))
		if code != c.code || !strings.Contains(got, c.want) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%.900s", c.args, code, c.code, c.want, got)
		}
	}
}

// printed runs a command and returns all that it prints, and its exit code.
func printed(t *testing.T, args []string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), append([]string{"podstep"}, args...), &out, &out)
	return out.String(), code
}
