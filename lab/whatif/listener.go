package whatif

import (
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/podstep/podstep/agent/whatif"
)

// discard returns a logger that logs nothing.
func discard() klog.Logger { return logr.Discard() }

// listener keeps what the kubelet's function logs: the reasons that the code gives for its decisions.
type listener struct {
	mu      sync.Mutex
	remarks []whatif.Remark
}

// loudest is the verbosity up to which messages give reasons. Those above only trace the calls.
const loudest = 4

// listen returns a logger whose messages are kept, until stop returns them. Some of the function's code takes no logger,
// but that of the process.
func (l *listener) listen() (logger klog.Logger, stop func() []whatif.Remark) {
	l.remarks = nil
	logger = logr.New(sink{to: l})
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true))
	return logger, func() []whatif.Remark {
		klog.ClearLogger()
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.remarks
	}
}

// sink is the listener as logr calls it.
type sink struct {
	to     *listener
	values []any
}

func (s sink) Init(logr.RuntimeInfo)        {}
func (s sink) Enabled(level int) bool       { return level <= loudest }
func (s sink) WithName(string) logr.LogSink { return s }
func (s sink) WithValues(kv ...any) logr.LogSink {
	return sink{to: s.to, values: append(s.values[:len(s.values):len(s.values)], kv...)}
}

func (s sink) Info(_ int, message string, kv ...any) { s.keep(message, kv) }

func (s sink) Error(err error, message string, kv ...any) {
	if err != nil {
		message += ": " + err.Error()
	}
	s.keep(message, kv)
}

func (s sink) keep(message string, kv []any) {
	r := whatif.Remark{Message: strings.TrimSpace(message)}
	all := append(s.values[:len(s.values):len(s.values)], kv...)
	for i := 0; i+1 < len(all); i += 2 {
		if key := all[i]; key == "container" || key == "containerName" {
			r.Container, _ = all[i+1].(string)
		}
	}
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	s.to.remarks = append(s.to.remarks, r)
}
