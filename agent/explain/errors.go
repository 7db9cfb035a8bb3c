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
	// wrapping matches the words that the kubelet and gRPC put around a reason. They add
	// nothing to a finding's sentence.
	wrapping = regexp.MustCompile(`rpc error: code = \w+ desc = |Failed to create sandbox for pod "[^"]*": |Back-off pulling image "[^"]*": (?:ErrImagePull: )?|` +
		`failed to pull and unpack image "[^"]*": |failed to resolve reference "[^"]*": | for sandbox "[0-9a-f]{64}"|` +
		` \(pod: "[^"]*", container: [^)]*\)| restarting failed container=.*`)
)

// maxReason and maxBrief bound the part of an error that goes into a sentence, and the part
// that goes into a row of a list, in characters.
const (
	maxReason = 160
	maxBrief  = 60
)

// crashLoop is the kubelet's reason for not starting a container again yet.
const crashLoop = "CrashLoopBackOff"

// readCauses keeps the phrases of the errors that were read: a pod that retries has the same
// error for many frames of the screen. Nobody changes a phrase.
var readCauses struct {
	mu  sync.Mutex
	all map[string]Phrase
}

// maxCauses bounds readCauses. When it is full, all its phrases are dropped.
const maxCauses = 1 << 10

// causeOf returns the phrase that an error of a turn is read as.
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

// failureIn returns the phrase for a failure of the kubelet. object is the container or the pod
// of the failure, reason the kubelet's one word for it, and quoted its message in quotes.
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

// failureFor returns a failure with its reason. Two failures, which are recognised by the whole
// error, have few words of their own.
func failureFor(err, reason string, failure Phrase) Phrase {
	if strings.Contains(err, "runAsNonRoot") {
		return Phrase{CauseRoot, Args{"failure": failure, "reason": reason}}
	}
	if what := missing.FindStringSubmatch(err); reason == "CreateContainerConfigError" && what != nil {
		return Phrase{CauseMissing, Args{"failure": failure, "reason": reason, "kind": what[1], "name": words.OneLine(what[2])}}
	}
	return Phrase{CauseFailure, Args{"failure": failure, "reason": reason}}
}

// target returns the name of what the kubelet failed to do something for: a container, or a
// pod, which the kubelet writes as name_namespace(uid).
func target(s string) string {
	if i := strings.IndexByte(s, '('); i > 0 {
		s = s[:i]
	}
	return words.OneLine(s)
}

// message returns an error's message, which the kubelet quotes. Further errors may follow it.
func message(quoted string) string {
	if q, err := strconv.QuotedPrefix(quoted); err == nil {
		if s, err := strconv.Unquote(q); err == nil {
			return words.Cut(strings.TrimRight(plain(s), ". "), maxReason)
		}
	}
	return ""
}

// plain returns an error without what gRPC and the kubelet put around it.
func plain(err string) string { return words.OneLine(wrapping.ReplaceAllString(err, "")) }
