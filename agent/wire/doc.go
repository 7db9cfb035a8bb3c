// Package wire reads events in the form in which the agent sends and keeps
// them: encoded agentpb.Event messages. Decoder makes whole probes.Events of
// them, ReadHeader looks at the parts of fixed size without allocating, for
// those who have many events and show few.
package wire
