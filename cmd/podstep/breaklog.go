package main

import (
	"go/parser"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/filter"
)

// logs sets the action log, with the names of values that a person wrote.
func (f *breakFlags) logs(req *agentpb.AddBreakpointRequest, names string) error {
	if f.force {
		return usagef("--force is not needed for --action log, which holds nobody; leave it out")
	}
	if err := f.checkCondition(); err != nil {
		return err
	}
	log := &agentpb.LogAction{Filter: f.filter}
	for _, name := range strings.Split(names, ",") {
		if name = strings.TrimSpace(name); name != "" {
			log.Fields = append(log.Fields, name)
		}
	}
	if strings.Contains(f.action, "=") && log.Fields == nil {
		return usagef("--action %q: no value is named; write --action log for all values, or names like --action log=image,err", f.action)
	}
	if f.at != "" {
		for _, expression := range log.Fields {
			if _, err := parser.ParseExpr(expression); err != nil {
				return usagef("--action %q: %q is no expression: %v", f.action, expression, err)
			}
		}
	}
	req.Action = &agentpb.AddBreakpointRequest_Log{Log: log}
	return nil
}

func (f *breakFlags) isLog() bool { return f.action == "log" || strings.HasPrefix(f.action, "log=") }

// checkCondition returns an error for a condition that nobody can read: a filter of calls, or at a place of the code an
// expression.
func (f *breakFlags) checkCondition() (err error) {
	switch {
	case f.filter == "":
	case f.at != "":
		_, err = parser.ParseExpr(f.filter)
	default:
		_, err = filter.Parse(f.filter)
	}
	if err != nil {
		return usagef("--if %q: %v", f.filter, err)
	}
	return nil
}
