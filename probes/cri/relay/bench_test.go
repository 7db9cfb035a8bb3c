package relay

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ways are the ways in which a benchmark's client reaches the runtime.
var ways = []struct {
	name    string
	relayed bool
	w       func() Watcher
}{
	{"direct", false, nil},
	{"bytes", true, func() Watcher { return nil }},
	{"unwatched", true, func() Watcher { return unwatched{} }},
	{"watched", true, func() Watcher {
		w := newWatcher()
		go func() {
			for range w.ends {
			}
		}()
		return w
	}},
}

func overWays(b *testing.B, do func(b *testing.B, socket string)) {
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			socket := newFakeRuntime(b).listening
			if way.relayed {
				socket = newRelayed(b, socket, way.w()).listening
			}
			do(b, socket)
		})
	}
}

// BenchmarkUnary makes one call after the other.
func BenchmarkUnary(b *testing.B) {
	overWays(b, func(b *testing.B, socket string) {
		c := cri.NewRuntimeServiceClient(dial(b, socket))
		req := &cri.VersionRequest{Version: strings.Repeat("x", 300)}
		var took []time.Duration
		for b.Loop() {
			from := time.Now()
			if _, err := c.Version(context.Background(), req); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(from))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "µs-p50")
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "µs-p99")
	})
}

// BenchmarkParallel makes many calls at once.
func BenchmarkParallel(b *testing.B) {
	overWays(b, func(b *testing.B, socket string) {
		c := cri.NewRuntimeServiceClient(dial(b, socket))
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := c.Version(context.Background(), &cri.VersionRequest{Version: "x"}); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// BenchmarkLarge gets an answer of 8 MiB.
func BenchmarkLarge(b *testing.B) {
	overWays(b, func(b *testing.B, socket string) {
		c := dial(b, socket)
		const size = 8 << 20
		b.SetBytes(size)
		for b.Loop() {
			var m wrapperspb.BytesValue
			if err := c.Invoke(context.Background(), "/test.Raw/Large", wrapperspb.Int64(size), &m); err != nil || len(m.Value) != size {
				b.Fatal(len(m.Value), err)
			}
		}
	})
}
