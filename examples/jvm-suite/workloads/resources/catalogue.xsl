<?xml version="1.0"?>
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="html" indent="yes" encoding="UTF-8"/>
  <xsl:param name="order"/>
  <xsl:key name="topic" match="book" use="@topic"/>
  <xsl:key name="author" match="book" use="author"/>

  <xsl:template match="/library">
    <html>
      <head><title>Catalogue of <xsl:value-of select="count(book)"/> books</title></head>
      <body>
        <xsl:for-each select="book[generate-id() = generate-id(key('topic', @topic)[1])]">
          <xsl:sort select="@topic"/>
          <xsl:variable name="books" select="key('topic', @topic)"/>
          <h2><xsl:value-of select="translate(@topic, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')"/></h2>
          <p>
            <xsl:value-of select="count($books)"/> books,
            mean price <xsl:value-of select="format-number(sum($books/@price) div count($books), '0.00')"/>
          </p>
          <table>
            <xsl:apply-templates select="$books">
              <xsl:sort select="*[name() = $order]|@*[concat('@', name()) = $order]"/>
              <xsl:sort select="@id"/>
            </xsl:apply-templates>
          </table>
        </xsl:for-each>
      </body>
    </html>
  </xsl:template>

  <xsl:template match="book">
    <tr class="{substring(@year, 1, 3)}0s">
      <td><xsl:number value="position()" format="I"/></td>
      <td><xsl:value-of select="title"/></td>
      <td>
        <xsl:for-each select="author">
          <xsl:value-of select="."/>
          (<xsl:value-of select="count(key('author', .))"/>)
          <xsl:if test="position() != last()">, </xsl:if>
        </xsl:for-each>
      </td>
      <td><xsl:call-template name="stars"><xsl:with-param name="count" select="floor(@price div 10)"/></xsl:call-template></td>
      <td><xsl:apply-templates select="abstract/p"/></td>
    </tr>
  </xsl:template>

  <xsl:template match="p"><p><xsl:apply-templates/></p></xsl:template>
  <xsl:template match="em"><b><xsl:value-of select="normalize-space(.)"/></b></xsl:template>

  <xsl:template name="stars">
    <xsl:param name="count"/>
    <xsl:if test="$count &gt; 0">
      <xsl:text>*</xsl:text>
      <xsl:call-template name="stars"><xsl:with-param name="count" select="$count - 1"/></xsl:call-template>
    </xsl:if>
  </xsl:template>
</xsl:stylesheet>
