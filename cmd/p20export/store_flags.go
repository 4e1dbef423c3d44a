package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/docs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// storeVariable is the environment variable that replaces --store. Its URL may contain a
// password, because only processes of the same user can read it.
const storeVariable = "P20EXPORT_STORE"

// maxPassword is the maximum size of the file of --password-file, in bytes.
const maxPassword = 4096

// errStore marks failures of logs.
var errStore = errors.New("cannot use the log")

// storeFlags are the flags that name a log, and the tenant in it.
type storeFlags struct {
	url, passwordFile, tenant string
	// allTenants is set by the flag that addAllTenants adds.
	allTenants bool
	// address is the log that open opened.
	address logs.Address
}

// addStoreFlags adds the flags --store, --tenant and --password-file to a command.
func addStoreFlags(cmd *cobra.Command) *storeFlags {
	f := addStoreFlag(cmd)
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "`NAME` of the tenant; ids of threads are unique per tenant (default: the tenant without a name)")
	cli.Complete(cmd, "tenant")
	return f
}

// addStoreFlag adds the flags --store and --password-file to a command.
func addStoreFlag(cmd *cobra.Command) *storeFlags {
	f := &storeFlags{}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "store", "", "`URL` of the log: sqlite:FILE or postgres://USER@HOST/DATABASE (default: $"+storeVariable+")")
	flags.StringVar(&f.passwordFile, "password-file", "", "the first line of `FILE` is the password of the PostgreSQL database (default: as for psql, $PGPASSWORD or $PGPASSFILE)")
	cli.CompleteBy(cmd, "store", cobra.FixedCompletions([]string{"sqlite:", "postgres://"}, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp))
	return f
}

// addAllTenants adds the flag --all-tenants to a command that lists.
func (f *storeFlags) addAllTenants(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&f.allTenants, "all-tenants", false, what+" of all tenants")
	cmd.MarkFlagsMutuallyExclusive("tenant", "all-tenants")
}

// key returns the key of a thread.
func (f *storeFlags) key(thread string) store.Key { return store.Key{Tenant: f.tenant, Thread: thread} }

// queried returns the tenant for a query, or nil for all tenants.
func (f *storeFlags) queried() *string {
	if f.allTenants {
		return nil
	}
	return &f.tenant
}

// open opens the log that the flags name. Its errors are mistakes on the command line or
// wrap errStore.
func (f *storeFlags) open(ctx context.Context, mode logs.Mode) (store.Log, error) {
	var err error
	if f.address, err = f.parse(ctx); err != nil {
		return nil, err
	}
	log, err := f.address.Open(ctx, mode)
	if err != nil {
		return nil, withNext(err, fmt.Errorf("%w: %w", errStore, err)) // the error names the log
	}
	return log, nil
}

// parse returns the address that the flags name, with the password.
func (f *storeFlags) parse(ctx context.Context) (logs.Address, error) {
	text, from := f.url, "--store"
	if text == "" {
		text, from = os.Getenv(storeVariable), storeVariable
	}
	if text == "" {
		return logs.Address{}, fmt.Errorf("name the log with --store sqlite:FILE or --store postgres://USER@HOST/DATABASE, or in %s", storeVariable)
	}
	address, err := logs.Parse(text)
	switch {
	case err != nil:
		return address, fmt.Errorf("%s: %w", from, err)
	case f.url != "" && address.HasPassword():
		return address, errors.New("--store contains a password, which other users can see; give it with --password-file FILE or in PGPASSWORD")
	case f.passwordFile == "":
		return address, nil
	}
	password, err := readPassword(ctx, f.passwordFile)
	if err == nil {
		address, err = address.WithPassword(password)
	}
	if err != nil {
		return address, fmt.Errorf("--password-file: %w", err)
	}
	return address, nil
}

// readPassword returns the first line of a file.
func readPassword(ctx context.Context, path string) (string, error) {
	data, err := capture.ReadInput(ctx, path, maxPassword)
	if err != nil {
		return "", inputError(err)
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(string(data), "\ufeff"), "\n") // editors on Windows add the mark
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("%s has no password in its first line", finding.Quote(path))
	}
	return line, nil
}

// failed returns the error for a failure of the log that open opened.
func (f *storeFlags) failed(err error) error {
	return withNext(err, fmt.Errorf("%w %s: %w", errStore, f.address, err))
}

// withNext adds the next step to the error text of a failure of a log.
func withNext(err, text error) error {
	next := ""
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, store.ErrKey): // the latter is a mistake on the command line
		return err
	case errors.Is(err, store.ErrNoLog):
		next = "check --store; p20export log import CAPTURE, p20export proxy --store and p20export serve --upstream or --allow-append create a log"
	case errors.Is(err, store.ErrNotLog):
		next = "check --store: a log has a database of its own"
	case logs.Unauthorized(err):
		next = "give the password with --password-file FILE, whose first line it is, or in PGPASSWORD or PGPASSFILE"
	case errors.Is(err, store.ErrNewer):
		next = "use the p20export release that wrote the log, or a newer one"
	}
	if next == "" {
		return text
	}
	return fmt.Errorf("%w\nnext: %s", text, next)
}

// thread returns a thread of a log. If there is none, the error names similar threads.
func (f *storeFlags) thread(ctx context.Context, log store.Log, id string) (store.Thread, error) {
	t, err := log.Thread(ctx, f.key(id))
	switch {
	case errors.Is(err, store.ErrNoThread):
		return t, f.failed(f.unknown(ctx, log, id))
	case err != nil:
		return t, f.failed(err)
	}
	return t, nil
}

// existing is like thread, but returns an error if the thread was deleted.
func (f *storeFlags) existing(ctx context.Context, log store.Log, id string) (store.Thread, error) {
	t, err := f.thread(ctx, log, id)
	if err == nil && !t.DeletedAt.IsZero() {
		err = f.failed(f.deleted(t))
	}
	return t, err
}

// openThread opens an existing log and returns it with one of its threads, as existing does.
func (f *storeFlags) openThread(ctx context.Context, id string) (store.Log, store.Thread, error) {
	log, err := f.open(ctx, logs.Existing)
	if err != nil {
		return nil, store.Thread{}, err
	}
	t, err := f.existing(ctx, log, id)
	if err != nil {
		log.Close()
		return nil, t, err
	}
	return log, t, nil
}

// deleted returns the error for a thread that was deleted.
func (f *storeFlags) deleted(t store.Thread) error {
	return fmt.Errorf("thread %s was deleted at %s; its entries cannot be restored", finding.Quote(t.Thread), artifact.FormatTime(t.DeletedAt))
}

// maxSimilar is the number of threads among which unknown looks for similar names.
const maxSimilar = 10_000

// unknown returns the error for a thread that does not exist.
func (f *storeFlags) unknown(ctx context.Context, log store.Log, id string) error {
	var names, tenants []string
	seen := 0
	for t, err := range log.Threads(ctx, store.ThreadQuery{}) {
		if err != nil {
			return err
		}
		if seen++; seen > maxSimilar {
			break
		}
		switch {
		case t.Tenant == f.tenant:
			names = append(names, t.Thread)
		case t.Thread == id:
			tenants = append(tenants, t.Tenant)
		}
	}
	what := "thread " + finding.Quote(id)
	if f.tenant != "" {
		what += " of the tenant " + finding.Quote(f.tenant)
	}
	switch {
	case tenants != nil:
		return fmt.Errorf("there is no %s\nnext: the tenant %s has such a thread; name it with --tenant", what, finding.Quote(tenants[0]))
	case len(names) == 0:
		return fmt.Errorf("there is no %s\nnext: p20export log threads --all-tenants lists the threads of all tenants", what)
	}
	return fmt.Errorf("there is no %s\nnext: the most similar are %s; p20export log threads lists all", what, quoted(docs.NearestOf(id, names)))
}

// quoted formats names for a message.
func quoted(names []string) string {
	for i, name := range names {
		names[i] = finding.Quote(name)
	}
	return strings.Join(names, ", ")
}

// completeThreads completes the ids of threads.
func completeThreads(cmd *cobra.Command, given []string, prefix string) (ids []string, _ cobra.ShellCompDirective) {
	const most, patience = 100, 2 * time.Second
	ctx, cancel := context.WithTimeout(cmd.Context(), patience)
	defer cancel()
	f := storeFlags{}
	f.url, _ = cmd.Flags().GetString("store")
	f.passwordFile, _ = cmd.Flags().GetString("password-file")
	f.tenant, _ = cmd.Flags().GetString("tenant")
	log, err := f.open(ctx, logs.Existing)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer log.Close()
	seen := 0
	for t, err := range log.Threads(ctx, store.ThreadQuery{Tenant: &f.tenant}) {
		if seen++; err != nil || seen > maxSimilar || len(ids) == most {
			break
		}
		if strings.HasPrefix(t.Thread, prefix) && !slices.Contains(given, t.Thread) && finding.Escape(t.Thread) == t.Thread {
			ids = append(ids, t.Thread)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// completeThread is like completeThreads for commands with one thread.
func completeThread(cmd *cobra.Command, given []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeThreads(cmd, given, prefix)
}
