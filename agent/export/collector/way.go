package collector

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/version"
)

// way is one of the ways in which OTLP reaches a collector.
type way interface {
	// export sends a request once. Its errors have the codes of gRPC statuses.
	export(ctx context.Context, req *collectorpb.ExportTraceServiceRequest, headers metadata.MD) (*collectorpb.ExportTraceServiceResponse, error)
	// hint returns a question about what to look at if nothing can be sent this way.
	hint() string
	close()
}

// target is the meaning of an endpoint.
type target struct {
	grpc bool
	tls  bool
	// at is HOST:PORT for gRPC, else the URL to send to.
	at string
}

// Ports of OTLP, and the path of traces over HTTP.
const (
	portGRPC, portHTTP = "4317", "4318"
	tracesPath         = "/v1/traces"
)

// howToWrite says which endpoints there are.
const howToWrite = "write http://HOST:4318 for OTLP over HTTP, grpc://HOST:4317 or HOST:4317 over gRPC; https:// and grpcs:// have TLS"

// parse reads an endpoint. http://HOST:4317 means gRPC, as in OpenTelemetry's environment
// variables: nobody takes spans over HTTP at that port.
func parse(endpoint string) (target, error) {
	wrong := func(why string) (target, error) { return target{}, &EndpointError{endpoint, why} }
	written := endpoint
	if !strings.Contains(endpoint, "://") {
		if _, port, err := net.SplitHostPort(endpoint); err != nil || port == "" {
			return wrong("not an endpoint; " + howToWrite)
		}
		written = "grpc://" + endpoint
	}
	u, err := url.Parse(written)
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "grpc", "grpcs"}, u.Scheme) {
		return wrong("not an endpoint; " + howToWrite)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return wrong("an endpoint is an address, and a path for HTTP; credentials go into OTEL_EXPORTER_OTLP_HEADERS")
	}
	to := target{grpc: strings.HasPrefix(u.Scheme, "grpc") || u.Port() == portGRPC, tls: strings.HasSuffix(u.Scheme, "s")}
	path := strings.TrimSuffix(u.Path, "/")
	switch {
	case to.grpc && path != "":
		return wrong("OTLP over gRPC has an address and nothing behind it; write " + u.Scheme + "://" + u.Host)
	case to.grpc:
		to.at = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), portGRPC))
		return to, nil
	case u.Port() == "" && !to.tls:
		u.Host = net.JoinHostPort(u.Hostname(), portHTTP)
	}
	if !strings.HasSuffix(path, tracesPath) {
		path += tracesPath
	}
	u.Path, u.RawPath = path, ""
	to.at = u.String()
	return to, nil
}

// trusted returns the certificates by which a collector is recognised; nil: the system's.
func trusted(getenv func(string) string) (*x509.CertPool, error) {
	path := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"), getenv("OTEL_EXPORTER_OTLP_CERTIFICATE"))
	if path == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the certificate to trust: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read the certificate to trust: %s has none", path)
	}
	return pool, nil
}

// open makes the way to a target.
func (t target) open(getenv func(string) string) (way, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.tls {
		pool, err := trusted(getenv)
		if err != nil {
			return nil, err
		}
		config.RootCAs = pool
	}
	if !t.grpc {
		return newOverHTTP(t.at, config), nil
	}
	creds := insecure.NewCredentials()
	if t.tls {
		creds = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient("passthrough:///"+t.at, grpc.WithTransportCredentials(creds), grpc.WithUserAgent(userAgent()))
	if err != nil {
		return nil, err
	}
	return &overGRPC{conn, collectorpb.NewTraceServiceClient(conn)}, nil
}

func userAgent() string { return "podstep/" + version.Own() }

// overGRPC is OTLP over gRPC.
type overGRPC struct {
	conn   *grpc.ClientConn
	client collectorpb.TraceServiceClient
}

func (g *overGRPC) export(ctx context.Context, req *collectorpb.ExportTraceServiceRequest, headers metadata.MD) (*collectorpb.ExportTraceServiceResponse, error) {
	return g.client.Export(metadata.NewOutgoingContext(ctx, headers), req)
}

func (g *overGRPC) hint() string {
	return "is its OTLP receiver for gRPC at that address? That for HTTP is most often at http://HOST:4318"
}
func (g *overGRPC) close() { g.conn.Close() }

// overHTTP is OTLP over HTTP, with messages in their binary form.
type overHTTP struct {
	url    string
	client *http.Client
}

func newOverHTTP(url string, config *tls.Config) *overHTTP {
	return &overHTTP{url, &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true},
		// Headers may have credentials: they are for the collector alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// mostAnswer bounds the part of an answer that is read, in bytes.
const mostAnswer = 1 << 20

const protobuf = "application/x-protobuf"

func (h *overHTTP) export(ctx context.Context, req *collectorpb.ExportTraceServiceRequest, headers metadata.MD) (*collectorpb.ExportTraceServiceResponse, error) {
	body, err := proto.Marshal(req)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	for name, values := range headers {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	r.Header.Set("Content-Type", protobuf)
	r.Header.Set("User-Agent", userAgent())
	answer, err := h.client.Do(r)
	if err != nil {
		return nil, status.Error(codes.Unavailable, withoutURL(err).Error())
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	if answer.StatusCode != http.StatusOK {
		return nil, status.Error(codeOf(answer.StatusCode), "HTTP "+answer.Status+reasonIn(answer.Header, text))
	}
	out := &collectorpb.ExportTraceServiceResponse{}
	if kind := kindOf(answer.Header); kind != protobuf && len(text) > 0 {
		return nil, status.Errorf(codes.Unimplemented, "the answer is %q, and not OTLP's", kind)
	}
	if err := proto.Unmarshal(text, out); err != nil {
		return nil, status.Errorf(codes.Unimplemented, "the answer is not OTLP's: %v", err)
	}
	return out, nil
}

func (h *overHTTP) hint() string {
	return "is its OTLP receiver for HTTP at that address? That for gRPC is most often at grpc://HOST:4317"
}
func (h *overHTTP) close() { h.client.CloseIdleConnections() }

// withoutURL returns what went wrong, without the URL: the sentence around it names the
// endpoint already.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// codeOf returns the gRPC code for an HTTP answer. OTLP lets a client try again after the
// answers that get Unavailable.
func codeOf(answer int) codes.Code {
	switch answer {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return codes.Unavailable
	}
	return codes.InvalidArgument
}

func kindOf(h http.Header) string {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind
}

// mostReason bounds the part of a refusal's reason that is shown.
const mostReason = 300

// reasonIn returns why a collector refused: the message of the status that OTLP makes it send,
// or the collector's own text.
func reasonIn(h http.Header, body []byte) string {
	text := ""
	switch kindOf(h) {
	case protobuf:
		text = messageOf(body)
	case "text/plain", "application/json":
		text = string(body)
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' ' // it goes to a terminal
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > mostReason {
		text = string(runes[:mostReason]) + "…"
	}
	if text == "" {
		return ""
	}
	return ": " + text
}

// messageOf returns the message of an encoded google.rpc.Status. It is empty if there is none,
// or if raw is no status.
func messageOf(raw []byte) string {
	s := status.New(codes.Unknown, "").Proto()
	if proto.Unmarshal(raw, s) != nil {
		return ""
	}
	return s.GetMessage()
}
