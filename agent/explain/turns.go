package explain

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
)

// rulesOfTurns are for probes that see the turns of a pod's worker.
var rulesOfTurns = []rule{
	isRemoved, isKept, runsAgain, isInTurn, isRetrying, hasEnded, isDeleting, isRunning,
	probeFails, isUnready, waitsForContainers, waitsForWorker, isQuiet,
}

func isRemoved(c *check) *Finding {
	if c.state != life.Gone {
		return nil
	}
	return c.found(c.last(probes.RoleRemove), Phrase{GoneSource, Args{"pod": c.name}})
}

// isKept finds a pod that the node is finished with and that the API server still has.
func isKept(c *check) *Finding {
	if !c.lives.Lingers(c.p) {
		return nil
	}
	if names := c.finalizers(); names != "" {
		return c.found(c.p.Finalizers, Phrase{Finalizers, Args{"pod": c.name, "names": names}})
	}
	return c.found(history.None, Phrase{ObjectKept, Args{"pod": c.name}})
}

func isInTurn(c *check) *Finding {
	if c.p.Turning || !c.p.Worker && !c.p.Finished && c.p.At != history.None {
		return c.inCall()
	}
	return nil
}

func isRetrying(c *check) *Finding {
	if c.p.Failed == history.None {
		return nil
	}
	err := c.failed()
	f := c.found(c.p.Failed, c.retrying(err))
	f.More = append(c.lastExit(err), c.tries(err)...)
	if unmounted.MatchString(err) {
		c.volumeError(f)
	}
	f.More = append(f.More, c.next(err)...)
	return f
}

// retrying says why the last turn failed.
func (c *check) retrying(err string) Phrase {
	if m := failedTo.FindStringSubmatch(err); m != nil && m[3] == crashLoop {
		return Phrase{ContainerCrashLoop, Args{"pod": c.name, "cause": causeOf(err)}}
	}
	return Phrase{TurnRetrying, Args{"pod": c.name, "cause": causeOf(err)}}
}

func hasEnded(c *check) *Finding {
	switch {
	case !c.p.Finished && !c.p.Phase.Over():
		return nil
	case c.p.Finished && c.p.Deleting:
		return c.found(history.None, Phrase{EndedDeleted, Args{"pod": c.name}})
	}
	return c.found(history.None, c.ended())
}

func (c *check) ended() Phrase {
	return Phrase{Ended, Args{"pod": c.name, "phase": c.p.Phase.String()}}
}

func isDeleting(c *check) *Finding {
	if !c.p.Deleting {
		return nil
	}
	return c.found(history.None, c.deleting())
}

func (c *check) deleting() Phrase {
	return Phrase{Deleting, Args{"pod": c.name, "took": history.Since(c.p.DeletedAt, c.now)}}
}

func isRunning(c *check) *Finding {
	if c.state != life.Idle {
		return nil
	}
	f := c.found(c.last(probes.RoleStatus), c.ready())
	f.More = append(f.More, c.nextLook()...)
	return f
}

func (c *check) ready() Phrase { return Phrase{Running, Args{"pod": c.name}} }

func isUnready(c *check) *Finding {
	if !c.waits() || c.p.Phase != life.Running {
		return nil
	}
	return c.found(c.last(probes.RoleStatus), c.unready())
}

func (c *check) unready() Phrase { return Phrase{Unready, Args{"pod": c.name}} }

func waitsForContainers(c *check) *Finding {
	if !c.waits() || !c.p.Sandboxed {
		return nil
	}
	return c.found(c.last(probes.RoleStatus), Phrase{WaitingContainers, Args{"pod": c.name}})
}

func waitsForWorker(c *check) *Finding {
	if !c.waits() || c.p.Worker {
		return nil
	}
	return c.found(history.None, Phrase{WaitingWorker, Args{"pod": c.name}})
}

func isQuiet(c *check) *Finding {
	return c.found(c.last(probes.RoleStatus), Phrase{Quiet, Args{"pod": c.name, "took": history.Since(c.since, c.now)}})
}
