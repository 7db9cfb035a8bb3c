//go:build node

package soak

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
)

// How much more of these the kubelet may have after the run than before it.
const (
	moreGoroutines = 12
	moreFiles      = 6
	moreHeap       = 32 << 20
	// The aim is 32 MiB, and 900 pods come to 28 to 32. Most of that does not belong to podstep but to the kubelet's
	// own work, and to the gaps in its heap. A run on a busy machine must not fail for it.
	moreMemory = 48 << 20
)

// settleWithin is how long the kubelet may take to clean up after the last pod: it collects garbage once a minute and
// keeps stories of pods that are gone.
const settleWithin = 4 * time.Minute

// baseline has the figures of a kubelet without pods.
type baseline struct {
	goroutines, files int
	resident, heap    int64
	live              int64          // of the heap
	stacks            map[string]int // goroutines, by the functions that they are in
	stats             *agentpb.StatsResponse
	profile           []byte // of the heap
}

// settle waits until the node has nothing to do, then measures. After the run it waits until the kubelet has returned
// to its figures from before.
func (s *soak) settle(before *baseline) *baseline {
	end := time.Now().Add(settleWithin)
	var last *baseline
	for {
		now, err := s.measure()
		if err != nil {
			s.t.Fatal(err)
		}
		left := s.leftovers(now)
		switch {
		case left == "" && last != nil && now.settled(before, last):
			return now
		case time.Now().After(end):
			if left != "" {
				s.errorf("%v after the last pod: %s", settleWithin, left)
			}
			return now
		}
		last = now
		s.sit(5 * time.Second)
	}
}

// settled reports whether nothing goes on any more. last is the measurement before this one. It collected garbage,
// but only now has that memory gone back to the system.
func (b *baseline) settled(before, last *baseline) bool {
	if before == nil {
		return b.goroutines == last.goroutines
	}
	return len(b.compare(before)) == 0
}

// leftovers describes what is left of pods that are gone.
func (s *soak) leftovers(now *baseline) string {
	if st := now.stats; st.Holds > 0 || st.Subscribers > 0 || st.Connections != 1 {
		return fmt.Sprintf("the agent has %d holds, %d watchers and %d connections, not 0, 0 and 1", st.Holds, st.Subscribers, st.Connections)
	}
	pods, err := s.agent.Pods(s.ctx, &agentpb.PodsRequest{})
	if err != nil || len(pods.Pods) > 0 {
		return fmt.Sprintf("the agent still lists pods: %v, %v", pods, err)
	}
	points, err := s.agent.ListBreakpoints(s.ctx, &agentpb.ListBreakpointsRequest{})
	if err != nil || len(points.Breakpoints) > 0 {
		return fmt.Sprintf("breakpoints: %v, %v", points, err)
	}
	conn, err := grpc.NewClient("unix://"+s.l.State.CRI, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	boxes, err := runtimeapi.NewRuntimeServiceClient(conn).ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return fmt.Sprintf("list pod sandboxes: %v", err)
	}
	if n := len(boxes.Items); n > 0 {
		return fmt.Sprintf("the runtime has %d sandboxes, such as %v", n, boxes.Items[0])
	}
	return ""
}

func (s *soak) measure() (*baseline, error) {
	b := &baseline{}
	heap, err := s.kubelet("debug/pprof/heap", map[string]string{"gc": "1", "debug": "1"})
	if err != nil {
		return nil, err
	}
	if b.heap, err = number(heap, `(?m)^# HeapInuse = (\d+)`); err != nil {
		return nil, err
	}
	if b.live, err = number(heap, `(?m)^# HeapAlloc = (\d+)`); err != nil {
		return nil, err
	}
	if b.profile, err = s.kubelet("debug/pprof/heap", nil); err != nil {
		return nil, err
	}
	metrics, err := s.kubelet("metrics", nil)
	if err != nil {
		return nil, err
	}
	if b.resident, err = number(metrics, `(?m)^process_resident_memory_bytes (\S+)`); err != nil {
		return nil, err
	}
	stacks, err := s.kubelet("debug/pprof/goroutine", map[string]string{"debug": "1"})
	if err != nil {
		return nil, err
	}
	b.goroutines, b.stacks = goroutines(stacks)
	b.files = labtest.Files(s.t, s.l.KubeletPID())
	b.stats, err = s.agent.Stats(s.ctx, &agentpb.StatsRequest{})
	return b, err
}

// kubelet requests a path of the kubelet's port, through the API server.
func (s *soak) kubelet(path string, params map[string]string) ([]byte, error) {
	req := s.l.Client.CoreV1().RESTClient().Get().Resource("nodes").Name(s.l.State.Node).SubResource("proxy").Suffix(path)
	for k, v := range params {
		req = req.Param(k, v)
	}
	out, err := req.DoRaw(s.ctx)
	if err != nil {
		return nil, fmt.Errorf("get %s of the kubelet: %w", path, err)
	}
	return out, nil
}

func number(text []byte, pattern string) (int64, error) {
	m := regexp.MustCompile(pattern).FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("the kubelet reports no %s", pattern)
	}
	f, err := strconv.ParseFloat(string(m[1]), 64)
	return int64(f), err
}

// goroutines reads a profile. It returns the number of goroutines, and how many are in the same functions.
func goroutines(profile []byte) (sum int, stacks map[string]int) {
	stacks = map[string]int{}
	n, funcs := 0, []string(nil)
	done := func() {
		if n > 0 {
			stacks[strings.Join(funcs, " < ")] += n
			sum += n
		}
		n, funcs = 0, nil
	}
	lines := bufio.NewScanner(bytes.NewReader(profile))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) > 1 && fields[1] == "@":
			done()
			n, _ = strconv.Atoi(fields[0])
		case len(fields) > 2 && fields[0] == "#" && strings.HasPrefix(fields[1], "0x"):
			name, _, _ := strings.Cut(fields[2], "+0x")
			funcs = append(funcs, name)
		}
	}
	done()
	return sum, stacks
}

// compare returns what has grown too much since before.
func (b *baseline) compare(before *baseline) (wrong []string) {
	if n := b.goroutines - before.goroutines; n > moreGoroutines {
		wrong = append(wrong, fmt.Sprintf("the kubelet has %d goroutines, and had %d before; there are more of\n%s", b.goroutines, before.goroutines, b.grown(before)))
	}
	if n := b.files - before.files; n > moreFiles {
		wrong = append(wrong, fmt.Sprintf("the kubelet has %d open files, and had %d before", b.files, before.files))
	}
	if b.resident-before.resident > moreMemory || b.heap-before.heap > moreHeap {
		wrong = append(wrong, fmt.Sprintf("the kubelet has %d MiB in memory, and had %d before; of its heap it uses %d, and used %d; the recorder has %d, and had %d",
			b.resident>>20, before.resident>>20, b.heap>>20, before.heap>>20, b.stats.RecorderBytes>>20, before.stats.RecorderBytes>>20))
	}
	if b.stats.Faults > 0 {
		wrong = append(wrong, fmt.Sprintf("podstep's own code panicked %d times in the kubelet", b.stats.Faults))
	}
	return wrong
}

// grown returns the stacks that more goroutines have than before.
func (b *baseline) grown(before *baseline) string {
	var out strings.Builder
	for _, stack := range slices.Sorted(maps.Keys(b.stacks)) {
		if n := b.stacks[stack] - before.stacks[stack]; n > 0 {
			fmt.Fprintf(&out, "  %+d %s\n", n, stack)
		}
	}
	return out.String()
}
