package gather

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/nodelog"
)

// pathLogs is where the kubelet answers node log queries.
const pathLogs = "/logs/"

// queryLog asks the kubelet for the end of the log of a service of its machine.
func (p *port) queryLog(ctx context.Context, service string) (text []byte, err error) {
	text, err = p.readLog(ctx, url.Values{"query": {service}, "tailLines": {"20000"}})
	if nodelog.TakesNoOptions(text) {
		text, err = p.readLog(ctx, url.Values{"query": {service}})
	}
	if nodelog.IsListing(text) {
		return nil, nodelog.ErrListing
	}
	return text, err
}

func (p *port) readLog(ctx context.Context, query url.Values) (text []byte, err error) {
	err = p.get(ctx, pathLogs, query, maxLog, func(r io.Reader) (err error) {
		text, err = io.ReadAll(r)
		if errors.Is(err, kubeapi.ErrTooLarge) {
			err = nil
		}
		return err
	})
	return text, err
}

// maxLog bounds the answer to a node log query, in bytes.
const maxLog = 16 << 20

// askLog asks a kubelet on another machine for the end of its own log.
func (p *port) askLog(ctx context.Context) {
	text, err := p.queryLog(ctx, "kubelet")
	if err != nil {
		p.part.missed(evidence.Log, "log", err)
		return
	}
	p.mu.Lock()
	p.log = text
	p.mu.Unlock()
	p.part.put(func(s *evidence.Snapshot) { s.Saw(evidence.Log, "log", time.Now()) })
}
