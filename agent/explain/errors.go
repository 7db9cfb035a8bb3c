package explain

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/podstep/podstep/probes/words"
)

var (
	failedTo  = regexp.MustCompile(`failed to "(\w+)" for "([^"]*)" with (\w+)(?:: (".*))?`)
	unmounted = regexp.MustCompile(`unmounted volumes=\[([^\]]+)\]`)
	ofPod     = regexp.MustCompile(`^[^_"]+_[^("]+\([^)]+\)$`)
	missing   = regexp.MustCompile(`\b(configmap|secret) \\?"([^"\\]*)\\?" not found`)
	// wrapping is what the kubelet and gRPC put around a reason, which adds
	// nothing to the sentence around it.
	wrapping = regexp.MustCompile(`rpc error: code = \w+ desc = |Failed to create sandbox for pod "[^"]*": |Back-off pulling image "[^"]*": (?:ErrImagePull: )?|` +
		`failed to pull and unpack image "[^"]*": |failed to resolve reference "[^"]*": | for sandbox "[0-9a-f]{64}"|` +
		` \(pod: "[^"]*", container: [^)]*\)| restarting failed container=.*`)
)

// maxReason and maxBrief bound the part of an error that goes into a sentence, and
// into a row of a list.
const (
	maxReason = 160
	maxBrief  = 60
)

// crashLoop is the kubelet's reason for not starting a container again yet.
const crashLoop = "CrashLoopBackOff"

// readCauses are what errors came to before: a pod that retries has the same error for many
// frames of the screen. Nobody changes a phrase.
var readCauses struct {
	mu  sync.Mutex
	all map[string]Phrase
}

// maxCauses bounds them; beyond it all are forgotten.
const maxCauses = 1 << 10

// causeOf is what an error of a turn comes to.
func causeOf(err string) Phrase {
	readCauses.mu.Lock()
	defer readCauses.mu.Unlock()
	if p, ok := readCauses.all[err]; ok {
		return p
	}
	if readCauses.all == nil || len(readCauses.all) >= maxCauses {
		readCauses.all = map[string]Phrase{}
	}
	p := readCause(err)
	readCauses.all[err] = p
	return p
}

func readCause(err string) Phrase {
	if m := failedTo.FindStringSubmatch(err); m != nil {
		return failureIn(err, m[2], m[3], m[4])
	}
	if m := unmounted.FindStringSubmatch(err); m != nil {
		return Phrase{CauseVolumes, Args{"volumes": words.OneLine(m[1])}}
	}
	if strings.Contains(err, "network is not ready") {
		return Phrase{CauseNetwork, Args{}}
	}
	return Phrase{CauseError, Args{"error": words.Cut(words.OneLine(err), maxReason), "short": words.Cut(words.OneLine(err), maxBrief)}}
}

// failureIn is what the kubelet failed to do for a container or for the pod, for a
// reason that is one word, with a message that it quotes.
func failureIn(err, object, reason, quoted string) Phrase {
	out := Phrase{CauseReason, Args{"reason": words.OneLine(reason)}}
	if failure, ok := failureOf(reason); ok {
		out = failureFor(err, reason, Phrase{Code: failure})
	}
	if !ofPod.MatchString(object) {
		out = Phrase{CauseContainer, Args{"container": target(object), "what": out}}
	}
	if why := message(quoted); why != "" {
		out = Phrase{CauseDetail, Args{"what": out, "detail": why}}
	}
	return out
}

// failureFor is a failure with its reason. Two of which the whole error shows more
// have few words of their own.
func failureFor(err, reason string, failure Phrase) Phrase {
	if strings.Contains(err, "runAsNonRoot") {
		return Phrase{CauseRoot, Args{"failure": failure, "reason": reason}}
	}
	if what := missing.FindStringSubmatch(err); reason == "CreateContainerConfigError" && what != nil {
		return Phrase{CauseMissing, Args{"failure": failure, "reason": reason, "kind": what[1], "name": words.OneLine(what[2])}}
	}
	return Phrase{CauseFailure, Args{"failure": failure, "reason": reason}}
}

// target is what the kubelet failed to do something for: a container, or a pod,
// which it writes as name_namespace(uid).
func target(s string) string {
	if i := strings.IndexByte(s, '('); i > 0 {
		s = s[:i]
	}
	return words.OneLine(s)
}

// message is that of an error, which the kubelet quotes. Further errors may follow
// it.
func message(quoted string) string {
	if q, err := strconv.QuotedPrefix(quoted); err == nil {
		if s, err := strconv.Unquote(q); err == nil {
			return words.Cut(strings.TrimRight(plain(s), ". "), maxReason)
		}
	}
	return ""
}

// plain is an error without what gRPC and the kubelet put around it.
func plain(err string) string { return words.OneLine(wrapping.ReplaceAllString(err, "")) }
