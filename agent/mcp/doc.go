// Package mcp serves podstep's answers to assistants, by the Model Context Protocol. It has the tools, their arguments,
// two prompts and the pages of the causes. It divides answers into pages, and takes out what must not leave this machine.
//
// Without Holds, it only looks. What it serves comes from Answers, an interface without a method that changes anything, and the package
// imports no client of an agent or of an API server. The types of the questions have no path, address or credential:
// the person who starts the server chooses what is asked.
package mcp
