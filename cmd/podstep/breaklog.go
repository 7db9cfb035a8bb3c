package main

import (
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/filter"
)

// logs sets the action log, with the names of values that a person wrote.
func (f *breakFlags) logs(req *agentpb.AddBreakpointRequest, names string) error {
	if f.force {
		return usagef("--force is not needed for --action log, which holds nobody; leave it out")
	}
	if _, err := filter.Parse(f.filter); err != nil {
		return usagef("--if %q: %v", f.filter, err)
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
	req.Action = &agentpb.AddBreakpointRequest_Log{Log: log}
	return nil
}
