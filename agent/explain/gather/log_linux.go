package gather

import (
	"context"
	"fmt"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/nodelog"
	"github.com/podstep/podstep/probes/kubelets"
)

// Log is the log of a kubelet on this machine, as a source.
type Log struct{ Near *Nearby }

// Names names the source.
func (*Log) Names() (evidence.Source, string) { return evidence.Log, "log" }

// Look reads the end of the kubelet's log: the file that its standard error goes to, or
// the journal.
func (l *Log) Look(ctx context.Context, of *Subject) func(*evidence.Snapshot) {
	ctx, cancel := early(ctx)
	defer cancel()
	source, what := l.Names()
	k, err := l.Near.kubelet(ctx, of)
	if err != nil {
		return missedNear(source, what, err)
	}
	p := &part{}
	asked := map[string]func(){what: func() {
		lines, err := l.read(ctx, k, of)
		if err != nil {
			p.missed(source, what, err)
			return
		}
		p.saw(source, what, func(s *evidence.Snapshot) { s.Machine = &evidence.Machine{Lines: lines} })
	}}
	for _, name := range within(ctx, asked) {
		p.missed(source, name, context.DeadlineExceeded)
	}
	return p.give()
}

func (l *Log) read(ctx context.Context, k *kubelets.Kubelet, of *Subject) ([]evidence.Line, error) {
	log, err := nodelog.Of(ctx, k.PID)
	if err != nil {
		return nil, fmt.Errorf("find the kubelet's log: %w", err)
	}
	text, err := log.End(ctx, logSince)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's log: %w", err)
	}
	f := filter{of: of, since: time.Now().Add(-logSince)}
	return f.lines(text, log.Zone), nil
}
