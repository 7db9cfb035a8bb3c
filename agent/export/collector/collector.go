// Package collector sends spans to an OpenTelemetry collector, by OTLP over gRPC or HTTP. It
// tries again to send what the collector cannot take at once. A stream of events never waits
// for it: spans that find no room are dropped and counted.
package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// EndpointError is returned for an endpoint that makes no sense.
type EndpointError struct{ Endpoint, Why string }

func (e *EndpointError) Error() string { return fmt.Sprintf("endpoint %q: %s", e.Endpoint, e.Why) }

// Collector is a connection to a collector. One goroutine sends at a time.
type Collector struct {
	endpoint string
	way      way
	headers  metadata.MD

	// sent, refused and lost count spans: those that the collector took, those that it refused,
	// and those that did not reach it.
	sent, refused, lost int64
	why                 error // the last refusal or loss
}

var errFull = errors.New("it was too slow, and podstep keeps only so many")

// How long one attempt may take, how many attempts a batch gets, and the first pause between two.
const (
	attemptTime = 10 * time.Second
	attempts    = 5
	firstPause  = 200 * time.Millisecond
)

// Dial connects to the collector at an endpoint, and asks whether it takes spans. It speaks
// HTTP to http://HOST:PORT, and gRPC to grpc://HOST:PORT, HOST:PORT and http://HOST:4317. For
// https:// and grpcs:// it uses TLS. Headers and the certificate to trust come from
// OpenTelemetry's environment variables.
func Dial(ctx context.Context, endpoint string, getenv func(string) string) (*Collector, error) {
	to, err := parse(endpoint)
	if err != nil {
		return nil, err
	}
	headers, err := parseHeaders(cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), getenv("OTEL_EXPORTER_OTLP_HEADERS")))
	if err != nil {
		return nil, err
	}
	w, err := to.open(getenv)
	if err != nil {
		return nil, fmt.Errorf("connect to the collector at %s: %w", endpoint, err)
	}
	c := &Collector{endpoint: endpoint, way: w, headers: headers}
	if err := c.attempt(ctx, nil); err != nil {
		w.close()
		return nil, fmt.Errorf("send spans to the collector at %s: %s; %s", endpoint, status.Convert(err).Message(), w.hint())
	}
	return c, nil
}

// parseHeaders reads key=value,key=value, with values as in a URL.
func parseHeaders(s string) (metadata.MD, error) {
	md := metadata.MD{}
	for part := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, v, ok := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(v))
		key = strings.ToLower(strings.TrimSpace(key))
		if !ok || err != nil || key == "" {
			// The text may be a credential, and is not shown.
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS has a part that is not KEY=VALUE")
		}
		md.Append(key, value)
	}
	return md, nil
}

// attempt sends a batch once.
func (c *Collector) attempt(ctx context.Context, batch []*tracepb.ResourceSpans) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	answer, err := c.way.export(ctx, &collectorpb.ExportTraceServiceRequest{ResourceSpans: batch}, c.headers)
	if err != nil {
		return err
	}
	n := int64(count(batch))
	if p := answer.GetPartialSuccess(); p.GetRejectedSpans() > 0 {
		refused := min(p.GetRejectedSpans(), n)
		c.refused += refused
		n -= refused
		c.why = errors.New(p.GetErrorMessage())
	}
	c.sent += n
	return nil
}

// deliver sends a batch, and sends it again if the collector may take it later.
func (c *Collector) deliver(ctx context.Context, batch []*tracepb.ResourceSpans) error {
	pause := firstPause
	for i := 1; ; i++ {
		err := c.attempt(ctx, batch)
		if err == nil {
			return nil
		}
		if i == attempts || !later(err) || ctx.Err() != nil {
			c.lost += int64(count(batch))
			c.why = errors.New(status.Convert(err).Message())
			return fmt.Errorf("send spans to the collector at %s: %w", c.endpoint, c.why)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause *= 2
	}
}

// later reports whether OTLP lets a client send again after an error.
func later(err error) bool {
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss, codes.ResourceExhausted:
		return true
	}
	return false
}

func count(batch []*tracepb.ResourceSpans) (n int) {
	for _, r := range batch {
		for _, s := range r.GetScopeSpans() {
			n += len(s.GetSpans())
		}
	}
	return n
}

// Deliver returns a function that sends a batch and waits until it is sent.
func (c *Collector) Deliver(ctx context.Context) func([]*tracepb.ResourceSpans) error {
	return func(batch []*tracepb.ResourceSpans) error { return c.deliver(ctx, batch) }
}

// Summary says what has been sent, for a person.
func (c *Collector) Summary() string {
	out := fmt.Sprintf("%d spans sent to %s", c.sent, c.endpoint)
	if c.refused > 0 {
		out += fmt.Sprintf("; %d refused by it", c.refused)
	}
	if c.lost > 0 {
		out += fmt.Sprintf("; %d lost", c.lost)
	}
	return out
}

// Err returns an error if spans were refused or lost.
func (c *Collector) Err() error {
	if c.refused+c.lost == 0 {
		return nil
	}
	return fmt.Errorf("%d spans did not come to be kept by the collector at %s: %w", c.refused+c.lost, c.endpoint, c.why)
}

// Close ends the connection.
func (c *Collector) Close() { c.way.close() }
