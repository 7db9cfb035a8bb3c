package agentpb

import (
	"errors"
	"slices"
	"testing"
)

// TestParseLog: names and conditions of steps are no expressions, and those at places of the code are.
func TestParseLog(t *testing.T) {
	for _, c := range []struct {
		names, condition string
		atPlace          bool
		want             []string
	}{
		{"", "", false, nil},
		{" image , took,", "slow>2s", false, []string{"image", "took"}},
		{"a b", "err", false, []string{"a b"}},
		{"len(pod.Spec.Containers), attempt", "attempt != 0", true, []string{"len(pod.Spec.Containers)", "attempt"}},
	} {
		log, err := ParseLog(c.names, c.condition, c.atPlace)
		if err != nil || !slices.Equal(log.Fields, c.want) || log.Filter != c.condition {
			t.Errorf("%q if %q: %v, %v", c.names, c.condition, log, err)
		}
	}
	for _, c := range []struct {
		names, condition string
		atPlace          bool
		expression       string
	}{
		{"image", "slow>x", false, ""}, {"a b", "", true, "a b"}, {"a", "a ==", true, ""},
	} {
		_, err := ParseLog(c.names, c.condition, c.atPlace)
		var wrong *LogError
		if !errors.As(err, &wrong) || wrong.Expression != c.expression || wrong.Err == nil {
			t.Errorf("%q if %q: error %v", c.names, c.condition, err)
		}
	}
}
