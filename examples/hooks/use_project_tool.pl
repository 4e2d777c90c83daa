#!/usr/bin/env perl
# Turn `pip install X` into what this project uses: `uv add X`, `poetry add X` or `pipenv install X`.
#
# Event `pre_tool_use`, matcher `bash`. Reads `tool_args.command` from the context on stdin; answers a `modify`, or
# nothing. A rewritten command must mean what the old one meant, so whatever is not fully understood is left alone.

use strict;
use warnings;
use JSON::PP ();

# `uv add`, not `uv pip install`: what is not in pyproject.toml and uv.lock is gone after the next `uv sync`.
my %TOOL_FOR = (
    'uv.lock'     => 'uv add',
    'poetry.lock' => 'poetry add',
    'Pipfile'     => 'pipenv install',
);

# How loud pip is and whether it may touch the system's Python: without meaning for a tool with an environment of its own.
my %DROPPED = map { $_ => 1 } qw(-q --quiet --no-input --disable-pip-version-check --break-system-packages);

# They change where or how what follows is run.
my %CHANGES_PLACE = map { $_ => 1 } qw(cd pushd popd source . eval exec export alias unset);

# Putting the tool itself (or pip) into the project's dependencies is not what was meant.
my %NOT_A_DEPENDENCY = map { $_ => 1 } qw(pip uv poetry pipenv);

my $VERSION     = qr/ (?: [=~!<>]= | [<>] ) [\w.*+!]+ /xa;
my $REQUIREMENT = qr/ ([a-z0-9] (?: [\w.-]* [a-z0-9] )?) (?: \[ [\w.,-]+ \] )? (?: $VERSION (?: , $VERSION )* )? /xai;
my $ARCHIVE     = qr/ \.(?: whl | zip | tar | tgz | gz | bz2 | xz ) \z /xai;

sub fail {
    my ($reason) = @_;
    print STDERR "use_project_tool: $reason\n";
    exit 1;
}

# Cut a command line into words and operators. Nothing comes back for one with more shell syntax than quotes, `&&`,
# `||` and `;`. A word keeps its spelling, because that is how it goes into the new command.
sub tokens {
    my ($line) = @_;
    my @tokens;
    while ( $line !~ /\G \s* \z/gcx ) {
        if ( $line =~ /\G [ ]* ( && | \|\| | ; )/gcx ) {
            push @tokens, { operator => $1 };
        }
        elsif ( $line =~ m{\G [ ]* ( (?: [\w.,:/@%+=~^\[\]-] | '[^']*' | "[^"\$`\\!]*" )+ )}gcxa ) {
            my $spelling = $1;
            ( my $text = $spelling ) =~ s{'([^']*)'|"([^"]*)"}{$1 // $2}ge;
            push @tokens, { spelling => $spelling, text => $text };
        }
        else {
            return;
        }
    }
    return @tokens;
}

# The new words for one simple command, nothing when it is not a `pip install` of plain requirements.
sub rewritten {
    my ( $tool, @words ) = @_;
    return if ( join ' ', map { $_->{text} } @words ) !~ /\A (?: pip3? | python3? [ ] -m [ ] pip ) [ ] install [ ]/x;
    shift @words while $words[0]{text} ne 'install';
    shift @words;

    my @requirements;
    for my $word (@words) {
        next if $DROPPED{ $word->{text} };
        return if $word->{text} !~ /\A $REQUIREMENT \z/x || $NOT_A_DEPENDENCY{ lc $1 } || $word->{text} =~ $ARCHIVE;
        push @requirements, $word->{spelling};
    }
    return @requirements ? ( $tool, @requirements ) : ();
}

# The whole new command line, undef when it stays as it is.
sub with_tool {
    my ( $tool, $line ) = @_;
    my ( @out, @command, $changed );
    for my $token ( tokens($line), { operator => '' } ) {
        if ( exists $token->{spelling} ) {
            push @command, $token;
            next;
        }
        return if @command && $CHANGES_PLACE{ $command[0]{text} };
        my @new = rewritten( $tool, @command );
        $changed ||= @new;
        push @out, @new ? @new : ( map { $_->{spelling} } @command ), $token->{operator};
        @command = ();
    }
    return $changed ? join( ' ', grep { length } @out ) : undef;
}

# The lock file says which tool it is. Two of them (a project in the middle of a move) say nothing.
my $project = $ENV{HOOKRUN_PROJECT_DIR} // '.';
my @found   = grep { -f "$project/$_" } sort keys %TOOL_FOR;

my $input   = do { local $/; <STDIN> } // '';
my $context = eval { JSON::PP::decode_json($input) };
my $args    = ref $context eq 'HASH' ? $context->{tool_args} : undef;
my $command = ref $args eq 'HASH'    ? $args->{command}      : undef;
fail('no shell command in the context on stdin') if !defined $command || ref $command;
exit 0 if @found != 1;

my $tool = $TOOL_FOR{ $found[0] };
my $new  = with_tool( $tool, $command );
exit 0 if !defined $new;

print JSON::PP->new->utf8->canonical->encode(
    {
        action     => 'modify',
        args_patch => { command => $new },
        message    => "This project has a $found[0], so pip install became: $new. Use `$tool` for dependencies here.",
    }
), "\n";
