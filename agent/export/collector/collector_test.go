package collector

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	"google.golang.org/protobuf/proto"
)

// receiver is the OTLP service of a collector.
type receiver struct {
	collectorpb.UnimplementedTraceServiceServer
	mu      sync.Mutex
	spans   int
	headers metadata.MD
	// answers answer the next requests that bring spans, one each.
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
	return "grpc://" + l.Addr().String()
}

// serveHTTP serves the same over HTTP.
func (r *receiver) serveHTTP(t *testing.T) (endpoint string) {
	s := httptest.NewServer(r.handler(t))
	t.Cleanup(s.Close)
	return s.URL
}

func (r *receiver) handler(t *testing.T) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		in := &collectorpb.ExportTraceServiceRequest{}
		if err := errors.Join(err, proto.Unmarshal(body, in)); err != nil || req.Header.Get("Content-Type") != protobuf {
			t.Errorf("a request of %q: %v", req.Header.Get("Content-Type"), err)
		}
		md := metadata.MD{}
		for name, values := range req.Header {
			md.Append(name, values...)
		}
		w.Header().Set("Content-Type", protobuf)
		answer, err := r.Export(metadata.NewIncomingContext(req.Context(), md), in)
		var message proto.Message = answer
		if err != nil {
			message = status.Convert(err).Proto()
			w.WriteHeader(map[codes.Code]int{codes.Unavailable: http.StatusServiceUnavailable, codes.InvalidArgument: http.StatusBadRequest}[status.Code(err)])
		}
		raw, err := proto.Marshal(message)
		if err != nil {
			t.Error(err)
		}
		w.Write(raw)
	})
	return mux
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

var ways = map[string]func(*receiver, *testing.T) string{"gRPC": (*receiver).serve, "HTTP": (*receiver).serveHTTP}

func TestSend(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []func(int) (*collectorpb.ExportTraceServiceResponse, error)
		sent    int64
		err     string
	}{
		{"taken", nil, 10, ""},
		{"taken at the second try", []func(int) (*collectorpb.ExportTraceServiceResponse, error){fails(codes.Unavailable)}, 10, ""},
		{"refused for good", []func(int) (*collectorpb.ExportTraceServiceResponse, error){fails(codes.InvalidArgument)}, 0, "no"},
		{"some refused", []func(int) (*collectorpb.ExportTraceServiceResponse, error){refuses(3)}, 7, "3 spans did not come to be kept"},
	} {
		for over, serve := range ways {
			t.Run(c.name+" over "+over, func(t *testing.T) {
				r := &receiver{answers: slices.Clone(c.answers)}
				to, err := Dial(t.Context(), serve(r, t), none)
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
					t.Errorf("%d sent, %d came: %v; %s", to.sent, r.spans, err, to.Summary())
				}
			})
		}
	}
}

// TestFull: the maker of spans never waits; spans that find no room are dropped and counted.
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
	env := map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20x, tenant=a"}
	for over, serve := range ways {
		r := &receiver{}
		to, err := Dial(t.Context(), serve(r, t), func(name string) string { return env[name] })
		if err != nil {
			t.Fatal(err)
		}
		to.Close()
		if got := r.headers.Get("authorization"); !slices.Equal(got, []string{"Bearer x"}) || !slices.Equal(r.headers.Get("tenant"), []string{"a"}) || !strings.Contains(r.headers.Get("user-agent")[0], "podstep/") {
			t.Errorf("%s: %v", over, r.headers)
		}
	}
	env["OTEL_EXPORTER_OTLP_HEADERS"] = "s3cret"
	if _, err := Dial(t.Context(), "http://127.0.0.1:1", func(name string) string { return env[name] }); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("headers that make no sense: %v", err)
	}
}

func TestEndpoints(t *testing.T) {
	for endpoint, want := range map[string]target{
		"grpc://a:1": {true, false, "a:1"}, "grpc://a": {true, false, "a:4317"}, "grpcs://a/": {true, true, "a:4317"}, "grpc://[::1]": {true, false, "[::1]:4317"},
		"a:4317": {true, false, "a:4317"}, "a:1": {true, false, "a:1"}, "[::1]:9": {true, false, "[::1]:9"},
		"http://a:4317": {true, false, "a:4317"}, "https://a:4317/": {true, true, "a:4317"},
		"http://a:4318": {false, false, "http://a:4318/v1/traces"}, "http://a": {false, false, "http://a:4318/v1/traces"}, "http://[::1]": {false, false, "http://[::1]:4318/v1/traces"},
		"https://a": {false, true, "https://a/v1/traces"}, "https://a:8443/otlp/": {false, true, "https://a:8443/otlp/v1/traces"}, "http://a:1/v1/traces": {false, false, "http://a:1/v1/traces"},
		"": {}, "a": {}, "a:": {}, "http://": {}, "ftp://a:1": {}, "http://u:p@a:1": {}, "http://a:1?x=y": {}, "grpc://a:1/v1/traces": {}, "http://a:4317/v1/traces": {},
	} {
		got, err := parse(endpoint)
		var bad *EndpointError
		if got != want || (want == target{}) != errors.As(err, &bad) {
			t.Errorf("%q is %+v, want %+v: %v", endpoint, got, want, err)
		}
	}
}

// TestNobody: a collector that is not there, or speaks otherwise, is an error at once. The
// error names the other way.
func TestNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>welcome</html>") }))
	defer page.Close()
	moved := httptest.NewServer(http.RedirectHandler(page.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	words := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are\nyou?", http.StatusUnauthorized) }))
	defer words.Close()
	grpcAt := (&receiver{}).serve(t)
	const grpcHint, httpHint = "is its OTLP receiver for gRPC at that address? That for HTTP", "is its OTLP receiver for HTTP at that address? That for gRPC"
	for endpoint, want := range map[string][]string{
		"grpc://" + l.Addr().String():                                  {grpcHint},
		"http://" + l.Addr().String():                                  {"connection refused", httpHint},
		strings.Replace(grpcAt, "grpc", "http", 1):                     {httpHint},
		strings.Replace((&receiver{}).serveHTTP(t), "http", "grpc", 1): {grpcHint},
		page.URL:           {"and not OTLP's", httpHint},
		moved.URL:          {"HTTP 307", httpHint},
		words.URL:          {"HTTP 401 Unauthorized: who are you?", httpHint},
		page.URL + "/base": {"and not OTLP's"},
	} {
		_, err := Dial(t.Context(), endpoint, none)
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q is not in %v", endpoint, w, err)
			}
		}
	}
}

// TestTLS: over HTTP the certificate to trust is the one that the environment names, and no other.
func TestTLS(t *testing.T) {
	r := &receiver{}
	s := httptest.NewTLSServer(r.handler(t))
	defer s.Close()
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if _, err := Dial(t.Context(), s.URL, none); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody trusts: %v", err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	to, err := Dial(t.Context(), s.URL, func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": file}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := to.Deliver(t.Context())(batch(3)); err != nil || r.spans != 3 {
		t.Errorf("%d came: %v", r.spans, err)
	}
}

// FuzzMessage: what a collector answers is read without harm.
func FuzzMessage(f *testing.F) {
	raw, _ := proto.Marshal(status.New(codes.InvalidArgument, "too large").Proto())
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if reason := reasonIn(http.Header{"Content-Type": {protobuf}}, raw); len([]rune(reason)) > mostReason+3 || strings.ContainsAny(reason, "\n\x1b") {
			t.Errorf("%q", reason)
		}
	})
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
