package agentpb

// DefaultTimes is how often a breakpoint acts that nobody gave a number for,
// whichever client sets it: as AddBreakpointRequest.times says, a hold for ever
// and a fault once.
const DefaultTimes = 0
