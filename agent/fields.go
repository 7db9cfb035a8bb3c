package agent

import (
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
)

// field is a named value of a step.
type field = wire.Field

// fieldBytes are fields in wire form.
type fieldBytes = values.Fields

func text(name, v string) field         { return wire.Text(name, v) }
func number(name string, v int64) field { return wire.Number(name, v) }
func flag(name string, v bool) field    { return wire.Flag(name, v) }
