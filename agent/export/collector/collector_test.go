package collector

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// receiver is the OTLP service of a collector.
type receiver struct {
	collectorpb.UnimplementedTraceServiceServer
	mu      sync.Mutex
	spans   int
	headers metadata.MD
	// answer, if it is set, answers the next requests that bring spans, one each.
	answers []func(n int) (*collectorpb.ExportTraceServiceResponse, error)
}

func (r *receiver) Export(ctx context.Context, req *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers, _ = metadata.FromIncomingContext(ctx)
	n := count(req.ResourceSpans)
	if n > 0 && len(r.answers) > 0 {
		answer := r.answers[0]
		r.answers = r.answers[1:]
		if got, err := answer(n); got != nil || err != nil {
			return got, err
		}
	}
	r.spans += n
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func (r *receiver) serve(t *testing.T) (endpoint string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(s, r)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return "http://" + l.Addr().String()
}

func batch(n int) []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: slices.Repeat([]*tracepb.Span{{Name: "a"}}, n)}}}}
}

func fails(code codes.Code) func(int) (*collectorpb.ExportTraceServiceResponse, error) {
	return func(int) (*collectorpb.ExportTraceServiceResponse, error) { return nil, status.Error(code, "no") }
}

func refuses(n int64) func(int) (*collectorpb.ExportTraceServiceResponse, error) {
	return func(int) (*collectorpb.ExportTraceServiceResponse, error) {
		return &collectorpb.ExportTraceServiceResponse{PartialSuccess: &collectorpb.ExportTracePartialSuccess{RejectedSpans: n, ErrorMessage: "too many"}}, nil
	}
}

func none(string) string { return "" }

func TestSend(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []func(int) (*collectorpb.ExportTraceServiceResponse, error)
		sent    int64
		err     string
	}{
		{"taken", nil, 10, ""},
		{"taken at the second try", []func(int) (*collectorpb.ExportTraceServiceResponse, error){fails(codes.Unavailable)}, 10, ""},
		{"refused for good", []func(int) (*collectorpb.ExportTraceServiceResponse, error){fails(codes.InvalidArgument)}, 0, "10 spans did not come to be kept"},
		{"some refused", []func(int) (*collectorpb.ExportTraceServiceResponse, error){refuses(3)}, 7, "3 spans did not come to be kept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &receiver{answers: c.answers}
			to, err := Dial(t.Context(), r.serve(t), none)
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			q := to.Queue()
			if err := q.Add(batch(10)); err != nil {
				t.Fatal(err)
			}
			if err := q.Close(); err != nil {
				t.Fatal(err)
			}
			err = to.Err()
			if to.sent != c.sent || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%d sent: %v; %s", to.sent, err, to.Summary())
			}
		})
	}
}

// TestFull: who makes spans never waits; what finds no room is dropped and counted.
func TestFull(t *testing.T) {
	began, goOn := make(chan bool, 1), make(chan bool)
	r := &receiver{answers: []func(int) (*collectorpb.ExportTraceServiceResponse, error){func(int) (*collectorpb.ExportTraceServiceResponse, error) {
		began <- true
		<-goOn
		return nil, nil
	}}}
	to, err := Dial(t.Context(), r.serve(t), none)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	q := to.Queue()
	q.Add(batch(1))
	<-began // one is under way
	for range mostBatches + 5 {
		q.Add(batch(1))
	}
	close(goOn)
	q.Close()
	if to.sent != mostBatches+1 || to.lost != 5 || to.Err() == nil || r.spans != mostBatches+1 {
		t.Errorf("%d sent, %d lost, %d came: %v", to.sent, to.lost, r.spans, to.Err())
	}
}

func TestHeaders(t *testing.T) {
	r := &receiver{}
	env := map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20x, tenant=a"}
	to, err := Dial(t.Context(), r.serve(t), func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	to.Close()
	if got := r.headers.Get("authorization"); !slices.Equal(got, []string{"Bearer x"}) || !slices.Equal(r.headers.Get("tenant"), []string{"a"}) {
		t.Errorf("%v", r.headers)
	}
	env["OTEL_EXPORTER_OTLP_HEADERS"] = "s3cret"
	if _, err := Dial(t.Context(), "http://127.0.0.1:1", func(name string) string { return env[name] }); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("headers that make no sense: %v", err)
	}
}

func TestEndpoints(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://a:1": "a:1", "https://a:1/": "a:1", "http://a": "a:4317", "http://[::1]:9": "[::1]:9", "http://[::1]": "[::1]:4317",
		"": "", "a:4317": "", "grpc://a:1": "", "http://": "", "http://a:4318/v1/traces": "", "http://u:p@a:1": "", "http://a:1?x=y": "",
	} {
		got, _, err := parse(endpoint, none)
		var bad *EndpointError
		if got != want || (want == "") != errors.As(err, &bad) {
			t.Errorf("%q is %q, want %q: %v", endpoint, got, want, err)
		}
	}
}

// TestNobody: a collector that is not there is an error at once.
func TestNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := Dial(t.Context(), "http://"+l.Addr().String(), none); err == nil || !strings.Contains(err.Error(), "is its OTLP receiver for gRPC at that address?") {
		t.Error(err)
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add("a=b,c=d%20e")
	f.Add("=,%zz")
	f.Fuzz(func(t *testing.T, s string) {
		md, err := parseHeaders(s)
		for key := range md {
			if err != nil || key == "" || strings.ContainsAny(key, ",=") {
				t.Errorf("%q: %v %v", s, md, err)
			}
		}
	})
}
