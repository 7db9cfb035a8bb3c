package gather

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/words"
)

// From says where to look for one question. A source that is nil is not asked; Absent says why
// it is missing. Sources keep what they have found: a later question needs new ones.
type From struct {
	// API asks the API server.
	API *kubeapi.Client
	// More are further sources, each of which fills in its part of a snapshot.
	More []Source
	// Absent are the sources that do not exist here. The snapshot lists them as unseen.
	Absent []evidence.Unseen
}

// Source fills in a part of a snapshot. It is called on a goroutine of its own, once the API
// server has been asked about the pod. It must change the snapshot only in the function that it
// returns. These functions are called on one goroutine, one after the other; nil: the source
// has nothing.
type Source interface {
	Look(ctx context.Context, of *Subject) func(*evidence.Snapshot)
	// Names names the source for the case that it does not answer in time.
	Names() (source evidence.Source, what string)
}

// Subject is the pod that is looked for, with what is known of it already.
type Subject struct {
	Name evidence.Name
	// Kubelet is the pod as the kubelet names it. The UID of a static pod there differs from
	// that of its mirror at the API server.
	Kubelet evidence.Name
	// Snapshot has what the API server said. It is for reading only.
	Snapshot *evidence.Snapshot
}

// Within is how long gathering takes at most, unless the caller's context ends earlier.
const Within = 5 * time.Second

// Pod gathers what is known of one pod.
func (f From) Pod(ctx context.Context, name evidence.Name) *evidence.Snapshot {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	s := &evidence.Snapshot{Name: name, Taken: time.Now()}
	s.Unseen = append(s.Unseen, f.Absent...)
	if f.API != nil {
		f.askAPI(ctx, s)
	}
	f.more(ctx, s)
	s.Taken = time.Now()
	return s
}

// askAPI asks the API server. If the server hangs, some of the time is left for the other sources.
func (f From) askAPI(ctx context.Context, s *evidence.Snapshot) {
	if d, ok := ctx.Deadline(); ok && len(f.More) > 0 {
		left := time.Until(d)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left*3/5)
		defer cancel()
	}
	newAsk(ctx, newMemo(f.API), s).pod()
}

// more asks the further sources, all at once.
func (f From) more(ctx context.Context, s *evidence.Snapshot) {
	if s.Name.UID == "" && s.Pod != nil {
		s.Name.UID = string(s.Pod.UID)
	}
	// A source that comes late still reads this copy, even while the snapshot is explained.
	seen := *s
	of := &Subject{Name: s.Name, Kubelet: ofKubelet(s), Snapshot: &seen}
	type answer struct {
		i    int
		fill func(*evidence.Snapshot)
	}
	answers := make(chan answer, len(f.More))
	for i, source := range f.More {
		go func() { answers <- answer{i, source.Look(ctx, of)} }()
	}
	open := map[int]bool{}
	for i := range f.More {
		open[i] = true
	}
	for len(open) > 0 {
		select {
		case a := <-answers:
			delete(open, a.i)
			if a.fill != nil {
				a.fill(s)
			}
		case <-ctx.Done():
			for i := range open {
				source, what := f.More[i].Names()
				s.Missed(source, what, evidence.Late, "")
			}
			return
		}
	}
}

// ofKubelet returns the pod as the kubelet names it. The mirror of a static pod carries the UID
// that the kubelet gave the pod.
func ofKubelet(s *evidence.Snapshot) evidence.Name {
	n := s.Name
	if s.Pod != nil && s.Pod.Annotations[corev1.MirrorPodAnnotationKey] != "" {
		n.UID = s.Pod.Annotations[corev1.MirrorPodAnnotationKey]
	}
	return n
}

// WhyNot returns the code for an error of a source, and the error's message made safe.
func WhyNot(err error) (code, message string) {
	message = words.Cut(words.OneLine(redact.Text(err.Error())), 300)
	var netErr net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return evidence.Late, message
	case kubeapi.IsCode(err, http.StatusUnauthorized):
		return evidence.Rejected, "the credentials are not accepted: " + message
	case kubeapi.IsCode(err, http.StatusForbidden), errors.Is(err, fs.ErrPermission):
		return evidence.Forbidden, message
	case kubeapi.IsCode(err, http.StatusNotFound), errors.Is(err, fs.ErrNotExist):
		return evidence.Absent, message
	case errors.As(err, &netErr), status.Code(err) == codes.Unavailable:
		return evidence.Unreachable, message
	}
	return evidence.Failed, message
}

// together runs functions at once and waits for all.
func together(all ...func()) {
	var wg sync.WaitGroup
	for _, f := range all {
		wg.Go(f)
	}
	wg.Wait()
}
