# Reads one mail from standard input as MIME::Parser (MIME-tools) reads it; writes JSON.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use Encode qw(decode);
use JSON::PP;
use Mail::Address;
use MIME::Parser;

binmode STDIN;
my $parser = MIME::Parser->new;
$parser->output_to_core(1);
$parser->tmp_to_core(1);
$parser->decode_headers(0);
my $message = $parser->parse(\*STDIN);

sub field {
    my ($name) = @_;
    my $value = $message->head->get($name);
    return '' unless defined $value;
    $value =~ s/\r?\n(?=[ \t])//g;
    $value =~ s/\s+\z//;
    return $value;
}

sub shown { return decode('MIME-Header', $_[0]) }

sub addresses {
    return [map { my $name = $_->phrase // ''; $name =~ s/^"(.*)"$/$1/; $name =~ s/\\(.)/$1/g; [shown($name), $_->address] } Mail::Address->parse(field($_[0]))];
}

my @parts;

sub leaves {
    my ($part, @above) = @_;
    my $kind = $part->effective_type;
    my @path = (@above, $kind);
    if ($part->parts) {
        leaves($_, @path) for $part->parts;
        return;
    }
    my $head        = $part->head;
    my $body        = $part->bodyhandle ? $part->bodyhandle->as_string : '';
    my $disposition = lc($head->mime_attr('content-disposition') // '');
    my $charset     = $kind =~ m{^text/} ? $head->mime_attr('content-type.charset') // '' : '';
    my $id          = $head->get('Content-ID') // '';
    $id =~ s/\s+//g;
    my $is_shown = $disposition ne 'attachment' && $kind =~ m{^text/(plain|html|calendar)$};
    my $text = $is_shown ? decode($charset || 'us-ascii', $body) : '';
    $text =~ s/\r\n/\n/g;
    push @parts,
      {
        path        => join('>', @path),
        disposition => $disposition,
        filename    => $head->recommended_filename // '',
        contentId   => $id,
        charset     => $charset,
        method      => $head->mime_attr('content-type.method') // '',
        sha256      => sha256_hex($body),
        text        => $text,
      };
}

leaves($message);
my @references = split ' ', field('References');
print JSON::PP->new->utf8->encode(
    {
        subject    => shown(field('Subject')),
        from       => addresses('From'),
        replyTo    => addresses('Reply-To'),
        to         => addresses('To'),
        cc         => addresses('Cc'),
        references => \@references,
        listId     => shown(field('List-Id')),
        parts      => \@parts,
        faults     => [$parser->results->errors, $parser->results->warnings],
    }
);
