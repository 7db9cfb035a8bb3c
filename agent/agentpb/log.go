package agentpb

import (
	"fmt"
	"go/parser"
	"strings"

	"github.com/podstep/podstep/probes/filter"
)

// LogError says what is wrong with a log that a person wrote.
type LogError struct {
	// Expression is the value that is none; "": the condition is wrong.
	Expression string
	Err        error
}

func (e *LogError) Error() string {
	if e.Expression == "" {
		return fmt.Sprintf("read condition: %v", e.Err)
	}
	return fmt.Sprintf("read expression %q: %v", e.Expression, e.Err)
}

func (e *LogError) Unwrap() error { return e.Err }

// ParseLog reads a log as a person writes it: names of values with commas between them, "" for all, and a condition, which is
// a filter of calls, "" for always. At a place of the kubelet's code all of them are Go expressions. The error is a *LogError.
func ParseLog(names, condition string, atPlace bool) (*LogAction, error) {
	log := &LogAction{Filter: condition}
	if condition != "" {
		var err error
		if atPlace {
			_, err = parser.ParseExpr(condition)
		} else {
			_, err = filter.Parse(condition)
		}
		if err != nil {
			return nil, &LogError{Err: err}
		}
	}
	for _, name := range strings.Split(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			log.Fields = append(log.Fields, name)
		}
	}
	if atPlace {
		for _, expression := range log.Fields {
			if _, err := parser.ParseExpr(expression); err != nil {
				return nil, &LogError{Expression: expression, Err: err}
			}
		}
	}
	return log, nil
}
