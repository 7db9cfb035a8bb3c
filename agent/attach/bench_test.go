//go:build bench

package attach

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
)

// What a kubelet's calls cost when they pass through podstep attach, beside
// having nothing in between, a proxy that copies bytes, and one that ends gRPC
// and speaks it anew. All take turns, so that they share whatever the machine
// does besides.

const (
	// In each round each way has one turn, with this many calls one after the other.
	unaryRounds = 80
	unaryCalls  = 50

	rounds     = 8
	turn       = 250 * time.Millisecond // of calls as fast as they go
	listsATurn = 4
)

// way is how the client's calls reach the runtime.
type way struct {
	name  string
	part  *part // what stands between; nil: nothing
	calls runtimeapi.RuntimeServiceClient
	image runtimeapi.ImageServiceClient
}

type bench struct {
	t       *testing.T
	runtime *part
	ways    []*way // the first is direct
}

func newBench(t *testing.T) *bench {
	dir, err := os.MkdirTemp("", "bench") // a test's own has too long a name for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(dir, "apart"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, runtime: startPart(t, partRuntime, dir, "")}
	b.add("direct", nil, b.runtime.socket)
	for _, name := range peers {
		var p *part
		switch name {
		case partGRPC:
			p = startOffTheShelf(t, dir, b.runtime.socket)
		case partApart:
			p = startApart(t, dir)
		default:
			p = startPart(t, name, dir, b.runtime.socket)
		}
		b.add(name, p, p.socket)
	}
	return b
}

func (b *bench) add(name string, p *part, socket string) {
	c := dialPart(b.t, socket)
	b.ways = append(b.ways, &way{name, p, runtimeapi.NewRuntimeServiceClient(c), runtimeapi.NewImageServiceClient(c)})
}

// inTurn calls do for each way in each round, in an order that changes. Between rounds it waits until podstep has
// published the calls, so that no other way pays for that.
func (b *bench) inTurn(rounds int, do func(i int, w *way)) {
	for range rounds {
		for _, i := range rand.Perm(len(b.ways)) {
			do(i, b.ways[i])
		}
		time.Sleep(2 * linger)
	}
}

// index returns the place of the way with that name.
func (b *bench) index(name string) int {
	return slices.IndexFunc(b.ways, func(w *way) bool { return w.name == name })
}

// benchCall is a call with the kubelet's deadline.
type benchCall struct {
	name string
	do   func(ctx context.Context, w *way) error
}

var (
	callVersion = benchCall{"Version", func(ctx context.Context, w *way) error {
		_, err := w.calls.Version(ctx, &runtimeapi.VersionRequest{Version: "0.1.0"})
		return err
	}}
	callStatus = benchCall{"ContainerStatus", func(ctx context.Context, w *way) error {
		_, err := w.calls.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: containerID(0)})
		return err
	}}
	callCreate = benchCall{"CreateContainer", func(ctx context.Context, w *way) error {
		_, err := w.calls.CreateContainer(ctx, benchRequest)
		return err
	}}
	benchRequest = benchCreate(0)
	eventSize    = proto.Size(benchEvent())
)

func (c benchCall) on(t *testing.T, w *way) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := c.do(ctx, w); err != nil {
		t.Errorf("%s, %s: %v", w.name, c.name, err)
	}
}

// TestBench makes all measurements.
func TestBench(t *testing.T) {
	b := newBench(t)
	fmt.Println(load())
	b.unary(callVersion)
	b.unary(callStatus)
	b.unary(callCreate)
	b.throughput(1)
	b.throughput(16)
	b.printEvents()
	b.bytes("a List of 4 MiB", b.list)
	b.bytes("a stream of events", b.stream)
	b.rhythm()
	fmt.Println(load())
}

// load returns the machine's load averages.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err.Error()
	}
	return "load of the machine: " + strings.Join(strings.Fields(string(text))[:3], " ")
}

// unary measures calls of one caller: those right behind another call, and those after a pause, when caches are cold
// and processors asleep.
func (b *bench) unary(c benchCall) {
	warm, cold := make([][]float64, len(b.ways)), make([][]float64, len(b.ways))
	b.inTurn(unaryRounds, func(i int, w *way) {
		for k := range unaryCalls {
			began := time.Now()
			c.on(b.t, w)
			took := micros(time.Since(began))
			if k == 0 {
				cold[i] = append(cold[i], took)
			} else {
				warm[i] = append(warm[i], took)
			}
		}
	})
	fmt.Printf("%s: direct %.0f µs, 99th percentile %.0f µs; after a pause %.0f µs\n",
		c.name, medianOf(warm[0]), quantile(warm[0], 0.99), medianOf(cold[0]))
	added := func(name string) (middle, tail, paused float64) {
		i := b.index(name)
		return medianOf(warm[i]) - medianOf(warm[0]), quantile(warm[i], 0.99) - quantile(warm[0], 0.99), medianOf(cold[i]) - medianOf(cold[0])
	}
	for _, name := range peers {
		middle, tail, paused := added(name)
		fmt.Printf("  added by %-22s %+6.0f µs, 99th percentile %+6.0f µs; after a pause %+.0f µs\n", name, middle, tail, paused)
	}
	middle, tail, paused := added(partPodstep)
	bytes, _, bytesPaused := added(partBytes)
	again, _, againPaused := added(partGRPC)
	fmt.Printf("  podstep adds %.0f µs (aim 80), 99th percentile %.0f µs (aim 200); %.2f of what a byte copy adds, %.2f of grpc-proxy; after a pause %.2f, %.2f\n",
		middle, tail, middle/bytes, middle/again, paused/bytesPaused, paused/againPaused)
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// throughput measures calls of several at once, as fast as they go.
func (b *bench) throughput(callers int) {
	rate := make([][]float64, len(b.ways))
	used, made := make([]time.Duration, len(b.ways)), make([]int64, len(b.ways))
	b.inTurn(rounds, func(i int, w *way) {
		before := w.cpu(b.t)
		began := time.Now()
		n := b.callAll(w, callers, began.Add(turn))
		rate[i] = append(rate[i], float64(n)/time.Since(began).Seconds())
		used[i] += w.cpu(b.t) - before
		made[i] += n
	})
	fmt.Printf("calls a second, %d at once: direct %.0f\n", callers, medianOf(rate[0]))
	for i, w := range b.ways[1:] {
		i++
		fmt.Printf("  %-22s %6.0f (%.2f of direct), %.1f s of CPU for 100,000\n",
			w.name, medianOf(rate[i]), medianOf(rate[i])/medianOf(rate[0]), used[i].Seconds()*1e5/float64(made[i]))
	}
}

func (w *way) cpu(t *testing.T) time.Duration {
	if w.part == nil {
		return 0
	}
	return w.part.cpu(t)
}

func (b *bench) callAll(w *way, callers int, until time.Time) int64 {
	var all sync.WaitGroup
	var n atomic.Int64
	for range callers {
		all.Go(func() {
			for time.Now().Before(until) {
				callStatus.on(b.t, w)
				n.Add(1)
			}
		})
	}
	all.Wait()
	return n.Load()
}

// printEvents prints how many events podstep has published, and how many it lost.
func (b *bench) printEvents() {
	s := b.stats()
	fmt.Printf("  podstep published %d events, dropped %v\n", s.Events, s.Dropped)
}

func (b *bench) stats() *agentpb.StatsResponse {
	c, err := client.Dial(context.Background(), b.ways[b.index(partPodstep)].part.socket+".agent")
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close()
	s, err := c.Stats(context.Background(), &agentpb.StatsRequest{})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// bytes measures how many bytes pass in a second.
func (b *bench) bytes(what string, pass func(w *way) (size int)) {
	rate := make([][]float64, len(b.ways))
	b.inTurn(rounds, func(i int, w *way) {
		began := time.Now()
		size := pass(w)
		rate[i] = append(rate[i], float64(size)/1e6/time.Since(began).Seconds())
	})
	fmt.Printf("%s: direct %.0f MB/s\n", what, medianOf(rate[0]))
	for i, w := range b.ways[1:] {
		fmt.Printf("  %-22s %6.0f (%.2f of direct)\n", w.name, medianOf(rate[i+1]), medianOf(rate[i+1])/medianOf(rate[0]))
	}
}

func (b *bench) list(w *way) (size int) {
	for range listsATurn {
		r, err := w.calls.ListContainers(context.Background(), &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: largeID}})
		if err != nil {
			b.t.Fatalf("%s: %v", w.name, err)
		}
		if len(r.Containers) <= benchPods {
			b.t.Fatalf("%s: a list of %d containers", w.name, len(r.Containers))
		}
		size += largeList
	}
	return size
}

func (b *bench) stream(w *way) (size int) {
	s, err := w.calls.GetContainerEvents(context.Background(), &runtimeapi.GetEventsRequest{})
	if err != nil {
		b.t.Fatalf("%s: %v", w.name, err)
	}
	for range benchEvents {
		if _, err := s.Recv(); err != nil {
			b.t.Fatalf("%s: %v", w.name, err)
		}
	}
	return benchEvents * eventSize
}

func medianOf(v []float64) float64 { return quantile(v, 0.5) }

func quantile(v []float64, q float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[int(float64(len(v))*q)]
}
