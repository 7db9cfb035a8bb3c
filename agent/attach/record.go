package attach

import (
	"context"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/agent/trace/past"
	"github.com/podstep/podstep/agent/version"
)

// record begins to record the agent's events to a directory, if somebody wants that.
func (s *Session) record() (err error) {
	if s.o.Record == "" {
		return nil
	}
	s.past, err = past.Start(past.Options{
		Dir: s.o.Record, Keep: s.o.Keep, KeepFor: s.o.KeepFor, Podstep: version.Own(),
		Tap: func(carried int) (past.Tap, error) {
			tap, err := s.agent.Tap(carried)
			if err != nil {
				return nil, err // not tap: a nil of its type is no nil Tap
			}
			return tap, nil
		},
		Print: func(line string) { s.printf("%s", line) },
	})
	if err != nil {
		return err
	}
	s.agent.ServeRecord(&record{s.past, past.Dir(s.o.Record)})
	return nil
}

// record is the record directory as clients read it.
type record struct {
	recorder *past.Recorder
	past.Dir
}

func (r *record) Stats() *agentpb.RecordDir {
	st := r.recorder.Stats()
	return &agentpb.RecordDir{Dir: st.Dir, Bytes: st.Bytes, Limit: st.Limit, Events: st.Events, Dropped: st.Dropped, Failing: redact.Text(st.Failing)}
}

// endRecord ends the recording. The kubelet is as before by now, or will be: an error is for people to know.
func (s *Session) endRecord(ctx context.Context) {
	if s.past == nil {
		return
	}
	if err := s.past.Stop(ctx); err != nil {
		s.printf("%v", err)
	}
}
