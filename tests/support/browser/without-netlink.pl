#!/usr/bin/env perl
# Runs the program in $PROGRAM without netlink sockets, by which Chromium learns of changed networks: it ends its requests at each of them, and
# every start of a container on this machine is one. Without the sockets it takes the network as unchanged. Other systems run it as it is.

use strict;
use warnings;
use POSIX;

my $program = delete $ENV{PROGRAM};
my ($system, $machine) = (POSIX::uname())[0, 4];
# Numbers of the system calls prctl and socket.
my %calls = (x86_64 => [157, 41], aarch64 => [167, 198]);
filter(@{ $calls{$machine} }) if $system eq 'Linux' && $calls{$machine};
exec $program, @ARGV or die "$program: $!\n";

# Installs a seccomp filter (linux/filter.h) that makes socket(AF_NETLINK, ...) fail with EAFNOSUPPORT.
sub filter {
    my ($prctl, $socket) = @_;
    my ($load, $jump_if_equal, $return) = (0x20, 0x15, 0x06);
    my ($number, $first_argument) = (0, 16); # offsets in struct seccomp_data
    my ($af_netlink, $error, $allow) = (16, 0x00050000 | 97, 0x7fff0000);
    my @code = (
        [$load, 0, 0, $number],
        [$jump_if_equal, 0, 3, $socket],
        [$load, 0, 0, $first_argument],
        [$jump_if_equal, 0, 1, $af_netlink],
        [$return, 0, 0, $error],
        [$return, 0, 0, $allow],
    );
    my $filter = join '', map { pack 'SCCL', @$_ } @code;
    my ($no_new_privileges, $seccomp, $mode_filter) = (38, 22, 2);
    syscall($prctl, $no_new_privileges, 1, 0, 0, 0) == 0 or die "no new privileges: $!\n";
    syscall($prctl, $seccomp, $mode_filter, pack('Sx6P', scalar @code, $filter)) == 0 or die "seccomp: $!\n";
}
