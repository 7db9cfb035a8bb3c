package causes

import (
	"regexp"
	"strings"

	"github.com/podstep/podstep/probes/words"
)

// wrapping matches the words that the kubelet and gRPC put around a reason. They add
// nothing to a sentence.
var wrapping = regexp.MustCompile(`rpc error: code = \w+ desc = |Failed to create sandbox for pod "[^"]*": |Back-off pulling image "[^"]*": (?:ErrImagePull: )?|` +
	`failed to pull and unpack image "[^"]*": |failed to resolve reference "[^"]*": | for sandbox "[0-9a-f]{64}"|` +
	` \(pod: "[^"]*", container: [^)]*\)| restarting failed container=.*`)

// plain returns an error without what gRPC and the kubelet put around it, and without a full stop.
func plain(err string) string {
	return strings.TrimRight(words.OneLine(wrapping.ReplaceAllString(err, "")), ". ")
}
