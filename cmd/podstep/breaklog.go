package main

import (
	"errors"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
)

// logs sets the action log, with the names of values that a person wrote.
func (f *breakFlags) logs(req *agentpb.AddBreakpointRequest, names string) error {
	if f.force {
		return usagef("--force is not needed for --action log, which holds nobody; leave it out")
	}
	log, err := agentpb.ParseLog(names, f.filter, f.at != "")
	var wrong *agentpb.LogError
	switch {
	case errors.As(err, &wrong) && wrong.Expression == "":
		return usagef("--if %q: %v", f.filter, wrong.Err)
	case errors.As(err, &wrong):
		return usagef("--action %q: %q is no expression: %v", f.action, wrong.Expression, wrong.Err)
	case err != nil:
		return err
	}
	if strings.Contains(f.action, "=") && log.Fields == nil {
		return usagef("--action %q: no value is named; write --action log for all values, or names like --action log=image,err", f.action)
	}
	req.Action = &agentpb.AddBreakpointRequest_Log{Log: log}
	return nil
}

func (f *breakFlags) isLog() bool { return f.action == "log" || strings.HasPrefix(f.action, "log=") }
