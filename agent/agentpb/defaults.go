package agentpb

// DefaultTimes is the value of AddBreakpointRequest.times for a breakpoint without a given number: a hold and a
// snapshot act for ever, a fault once.
const DefaultTimes = 0
