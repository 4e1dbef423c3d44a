// Package peer compares package lint with ag-ui-validate, another program that checks streams of
// AG-UI events. It has only a test, which needs the build tag peer (make validate-peer).
package peer
