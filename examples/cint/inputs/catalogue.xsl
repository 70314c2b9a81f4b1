<?xml version="1.0"?>
<!-- An index of a library's catalogue: keys, sorting, templates by mode, string and number functions. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="text"/>
  <xsl:key name="by-author" match="book" use="author/@id"/>
  <xsl:key name="by-year" match="book" use="@year"/>
  <xsl:template match="/library">
    <xsl:value-of select="concat('books ', count(book), ', pages ', sum(book/pages), '&#10;')"/>
    <xsl:apply-templates select="book" mode="summary"/>
    <xsl:text>&#10;</xsl:text>
    <xsl:for-each select="people/person">
      <xsl:sort select="substring-after(name, ' ')"/>
      <xsl:sort select="@id" data-type="number" order="descending"/>
      <xsl:variable name="books" select="key('by-author', @id)"/>
      <xsl:if test="count($books) = 13">
        <xsl:value-of select="concat(translate(name, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), ': ')"/>
        <xsl:for-each select="$books[position() &lt; 4]">
          <xsl:sort select="pages" data-type="number"/>
          <xsl:number value="position()" format="i. "/>
          <xsl:value-of select="normalize-space(title)"/>
          <xsl:text>; </xsl:text>
        </xsl:for-each>
        <xsl:value-of select="format-number(sum($books/pages) div count($books), '#,##0.0')"/>
        <xsl:text>&#10;</xsl:text>
      </xsl:if>
    </xsl:for-each>
    <xsl:for-each select="book[generate-id() = generate-id(key('by-year', @year)[1])]">
      <xsl:sort select="@year"/>
      <xsl:value-of select="concat(@year, ' ', count(key('by-year', @year)), ' ', sum(key('by-year', @year)/pages), '&#10;')"/>
    </xsl:for-each>
  </xsl:template>
  <xsl:template match="book" mode="summary">
    <xsl:variable name="text">
      <xsl:apply-templates select="abstract"/>
    </xsl:variable>
    <xsl:if test="string-length($text) mod 397 = 0"><xsl:value-of select="concat(@id, ' ', substring($text, 1, 30), '|')"/></xsl:if>
  </xsl:template>
  <xsl:template match="book[@lent]" mode="summary" priority="2">
    <xsl:variable name="author" select="author/@id"/>
    <xsl:if test="contains(title, 'of the') and preceding-sibling::book[1]/author/@id = $author">
      <xsl:value-of select="concat(@id, '*')"/>
    </xsl:if>
  </xsl:template>
  <xsl:template match="em"><xsl:text>_</xsl:text><xsl:apply-templates/><xsl:text>_</xsl:text></xsl:template>
  <xsl:template match="abstract/em[position() mod 2 = 0]"><xsl:value-of select="concat('(', ., ')')"/></xsl:template>
  <xsl:template match="ref"><xsl:call-template name="stars"><xsl:with-param name="n" select="@n"/></xsl:call-template></xsl:template>
  <xsl:template name="stars">
    <xsl:param name="n"/>
    <xsl:if test="$n &gt; 0"><xsl:text>*</xsl:text><xsl:call-template name="stars"><xsl:with-param name="n" select="$n - 1"/></xsl:call-template></xsl:if>
  </xsl:template>
</xsl:stylesheet>
