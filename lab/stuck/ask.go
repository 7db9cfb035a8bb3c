package stuck

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// `why` is asked anew when the API server reports a change, but not more often than askEvery. No event announces what only the
// node or the time shows, so it is asked after askAnyway in any case. To ask costs the API server some twenty requests.
const (
	askEvery  = 500 * time.Millisecond
	askAnyway = 2 * time.Second
)

// nextAsk waits until `why` is to be asked again. It returns false if the test has ended.
func nextAsk(ctx context.Context, changed <-chan struct{}) bool {
	anyway := time.After(askAnyway)
	select {
	case <-time.After(askEvery):
	case <-ctx.Done():
		return false
	}
	select {
	case <-changed:
	case <-anyway:
	case <-ctx.Done():
		return false
	}
	return true
}

// changes returns a channel that has a value after the API server has reported a change of a pod, or an event, in the namespace
// of the watched pod.
func (e *Env) changes(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	core, namespace := e.Client.CoreV1(), e.watched.Namespace
	go noteChanges(ctx, changed, core.Pods(namespace).Watch)
	go noteChanges(ctx, changed, core.Events(namespace).Watch)
	return changed
}

// noteChanges puts a value into changed, unless there is one, when a watch reports something, until ctx ends.
func noteChanges(ctx context.Context, changed chan<- struct{}, begin func(context.Context, metav1.ListOptions) (watch.Interface, error)) {
	for ctx.Err() == nil {
		w, err := begin(ctx, metav1.ListOptions{})
		if err == nil {
			for range w.ResultChan() {
				select {
				case changed <- struct{}{}:
				default:
				}
			}
			w.Stop()
		}
		// The API server may be away, or end a watch. The wait in nextAsk does not depend on this one.
		select {
		case <-time.After(askAnyway):
		case <-ctx.Done():
		}
	}
}
