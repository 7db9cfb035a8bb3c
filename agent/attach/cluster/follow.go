package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/kubeapi"
)

// follower lists objects of a kind and watches them from then on, for as long as
// its context lives.
type follower[T any] struct {
	clock clock
	pace  pace
	api   *kubeapi.Client
	path  string
	query url.Values
	// lasts is how long a watch is to last at least. The API server is asked for it.
	lasts time.Duration

	// list takes in all objects, and returns their version. They must not be older than notOlder; "0" allows any, and
	// "" asks for the newest.
	list func(ctx context.Context, notOlder string) (version string, err error)
	// complete is called when a list is whole, and changed with each change. up is told whether changes are being
	// watched.
	complete func()
	changed  func(kind string, object *T)
	up       func(bool)
	// notes is called with each new error, once while it stays the same, and with nil when the follower works for the
	// first time or again.
	notes func(error)
	// done is called once, when the first list is whole or cannot be had.
	done func()

	version string // what was seen last
	listed  bool   // a watch from version on misses nothing
	worked  bool
	failed  string // what was noted
}

func (f *follower[T]) run(ctx context.Context) {
	f.version = "0"
	done := sync.OnceFunc(f.done)
	defer done()
	for ctx.Err() == nil {
		began := f.clock.now()
		err := f.turn(ctx, done)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.up(false)
			done()
		}
		f.clock.sleep(ctx, f.pace.after(f.clock.now().Sub(began), err))
	}
}

// turn watches, after a list if there is no version to go on from.
func (f *follower[T]) turn(ctx context.Context, done func()) error {
	if !f.listed {
		version, err := f.list(ctx, f.version)
		if err != nil {
			if isUnknownVersion(err) {
				f.version = ""
			}
			f.fails(ctx, err)
			return err
		}
		f.version, f.listed = version, true
		f.complete()
		f.works()
		done()
	}
	err := f.watch(ctx)
	switch {
	case kubeapi.IsCode(err, http.StatusGone):
		f.listed = false // the server has forgotten what changed meanwhile: list anew
	case err != nil:
		f.fails(ctx, err)
	}
	return err
}

func (f *follower[T]) works() {
	f.up(true)
	if f.failed != "" || !f.worked {
		f.failed, f.worked = "", true
		f.notes(nil)
	}
}

// fails notes an error, once while it stays the same. After the end of ctx nothing counts as an error.
func (f *follower[T]) fails(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if text := err.Error(); text != f.failed {
		f.failed, f.worked = text, true
		f.notes(err)
	}
}

// isUnknownVersion reports whether an API server no longer has a version, or has never had it, such as after its
// storage was restored. The latter is a timeout, since the server waits for that version.
func isUnknownVersion(err error) bool {
	return kubeapi.IsCode(err, http.StatusGone) || kubeapi.HasCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// explain adds to an error what a person can do about it.
func explain(err error) error {
	switch {
	case kubeapi.IsCode(err, http.StatusForbidden):
		return errors.New(err.Error() + "; name a kubeconfig that may with --kubeconfig")
	case kubeapi.IsCode(err, http.StatusUnauthorized):
		return errors.New("the API server does not accept the credentials; name others with --kubeconfig")
	}
	return err
}
