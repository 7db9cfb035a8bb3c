package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

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
	// lasts is how long the API server is asked to let a watch be, at least.
	lasts time.Duration

	// list gives all objects to listed, and their version. They must not be older than
	// a version; "0" is any, and "" is the newest.
	list func(ctx context.Context, notOlder string) (version string, err error)
	// complete is called when a list is whole, and changed with each change. up reports
	// whether changes are being watched.
	complete func()
	changed  func(kind string, object *T)
	up       func(bool)
	// notes is called when it fails, once for as long as the error is the same, with
	// nil when it works again, and before anything failed too.
	notes func(error)
	// done is called once, when the first list is whole or cannot be had.
	done func()

	version string // what was seen last
	listed  bool   // watching from there misses nothing
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

// turn is a watch, and a list before it if there is none to go on from.
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
	version, err := watch(ctx, f.api, f.path, f.query, f.lasts, f.version, f.works, f.changed)
	f.version = version
	switch {
	case kubeapi.IsCode(err, http.StatusGone):
		f.listed = false // what changed meanwhile is forgotten: list anew
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

// fails notes a failure, once for as long as it is the same. What fails because ctx has
// ended is none.
func (f *follower[T]) fails(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if text := err.Error(); text != f.failed {
		f.failed, f.worked = text, true
		f.notes(err)
	}
}

// isUnknownVersion recognizes that an API server does not have a version any more, or has
// never had it, such as after its storage was restored. The latter is a timeout, since the
// server waits for that version.
func isUnknownVersion(err error) bool {
	return kubeapi.IsCode(err, http.StatusGone) ||
		kubeapi.IsCode(err, http.StatusGatewayTimeout) && strings.Contains(err.Error(), "Too large resource version")
}

// explain adds what to do about an error, where a person can do something.
func explain(err error) error {
	switch {
	case kubeapi.IsCode(err, http.StatusForbidden):
		return errors.New(err.Error() + "; name a kubeconfig that may with --kubeconfig")
	case kubeapi.IsCode(err, http.StatusUnauthorized):
		return errors.New("the API server does not accept the credentials; name others with --kubeconfig")
	}
	return err
}
